#include "measure/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/html.h"

namespace schemafill {
namespace {

constexpr double kWidth = 360;
constexpr double kEdge = 6;  // room for half of a tick's text
constexpr double kRow = 36;  // a label and its bar
constexpr double kBar = 12;
constexpr size_t kLongest = 30;  // characters of a label
constexpr double kLetter = 6.4;  // mean width in a legend
constexpr double kLegendRow = 20;
constexpr int kKinds = 4;  // of marks and dashes

constexpr double kLargest = 1e15;  // that is drawn

double Drawn(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

std::string Figure(double value, int digits, std::string_view unit) {
  if (!std::isfinite(value) || value < 0) return "-";
  return value < kLargest ? fmt::format("{:.{}f}{}", value, digits, unit)
                          : fmt::format("{:.2g}{}", value, unit);
}

// The first characters, "..." for the others.
std::string Shortened(std::string_view text) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80 && ++characters > kLongest)
      return std::string(text.substr(0, i)) + "…";
  }
  return std::string(text);
}

// From 0 to a round number.
struct Axis {
  double end = 1;
  double step = 1;

  double Place(double value, double from, double to) const {
    return from + (to - from) * std::min(Drawn(value) / end, 1.0);
  }
};

Axis AxisTo(double largest) {
  constexpr double kSmallest = 1e-6;
  if (!(largest > kSmallest)) return {};
  const double rough = std::min(largest, kLargest) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-6)) step = factor * power;
  }
  return {step * std::ceil(std::min(largest, kLargest) / step - 1e-6), step};
}

class Svg {
 public:
  void Rect(std::string_view kind, double x, double y, double width, double height,
            std::string_view hover = {}) {
    body_ += fmt::format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}")",
                         kind, x, y, width, height);
    Close("rect", hover);
  }
  void Line(std::string_view kind, double x1, double y1, double x2, double y2) {
    body_ +=
        fmt::format(R"(<path class="{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)", kind, x1, y1, x2, y2);
  }
  void Path(std::string_view kind, std::string_view path, std::string_view hover = {}) {
    body_ += fmt::format(R"(<path class="{}" d="{}")", kind, path);
    Close("path", hover);
  }
  void Text(std::string_view kind, double x, double y, std::string_view text) {
    body_ += fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>)", kind, x, y,
                         EscapeHtml(text));
  }
  // A mark at a point: circle, square, triangle, diamond, and the paper's cross.
  void Mark(int kind, double x, double y, std::string_view hover = {}) {
    static constexpr std::string_view kPaths[] = {"a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                                  "v-3.2h7v6.4h-7z", "l3.5 -3.8l3.5 6.6h-7z",
                                                  "l3.5 -4.5l3.5 4.5l-3.5 4.5z"};
    Path(fmt::format("mark c{}", kind), fmt::format("M{:.1f} {:.1f}{}", x - 3.5, y, kPaths[kind]),
         hover);
  }
  void Cross(double x, double y, std::string_view hover = {}) {
    Path("cross", fmt::format("M{:.1f} {:.1f}l8 8m0 -8l-8 8", x - 4, y - 4), hover);
  }

  std::string Close(std::string_view name, double height) const {
    return fmt::format(R"(<svg role="img" viewBox="0 0 {:.0f} {:.0f}" aria-label="{}">{}</svg>)",
                       kWidth, height, EscapeHtml(name), body_);
  }

 private:
  void Close(std::string_view element, std::string_view hover) {
    body_ +=
        hover.empty() ? "/>" : fmt::format("><title>{}</title></{}>", EscapeHtml(hover), element);
  }

  std::string body_;
};

// Ticks under bars, from `top` to `bottom`.
void DrawTicksBelow(const Axis& axis, double top, double bottom, std::string_view unit, Svg* svg) {
  for (int i = 0; i * axis.step <= axis.end * (1 + 1e-9); ++i) {
    const double x = axis.Place(i * axis.step, kEdge, kWidth - kEdge);
    svg->Line("grid", x, top, x, bottom);
    const bool last = (i + 1) * axis.step > axis.end * (1 + 1e-9);
    svg->Text(i == 0 ? "tick"
              : last ? "tick end"
                     : "tick middle",
              i == 0 ? 0
              : last ? kWidth
                     : x,
              bottom + 14, fmt::format("{:g}{}", i * axis.step, unit));
  }
}

struct LegendItem {
  std::string name;
  int kind = 0;  // -1: the paper's
};

// `draw(item, x, y)` draws the sample, 14 units wide. Returns the height.
template <typename Draw>
double DrawLegend(const std::vector<LegendItem>& items, Svg* svg, const Draw& draw) {
  double x = 0, y = 0;
  for (const LegendItem& item : items) {
    const std::string name = Shortened(item.name);
    const double width = 34 + kLetter * static_cast<double>(name.size());
    if (x > 0 && x + width > kWidth + 12) {
      x = 0;
      y += kLegendRow;
    }
    draw(item, x, y);
    svg->Text("legend", x + 20, y + 11, name);
    x += width;
  }
  return y + kLegendRow + 4;
}

// Where the places and values of curves lie.
struct CurveFrame {
  static constexpr double kLeft = 40, kRight = kWidth - 8, kHeight = 180;

  Axis axis;
  size_t places = 1;
  double top = 0;

  double bottom() const { return top + kHeight; }
  double Up(double value) const { return axis.Place(value, bottom(), top); }
  // `at` is from 1; a lone place lies in the middle.
  double Across(size_t at) const {
    if (places == 1) return (kLeft + kRight) / 2;
    return kLeft + 8 +
           (kRight - kLeft - 16) * static_cast<double>(at - 1) / static_cast<double>(places - 1);
  }
};

CurveFrame FrameOf(const CurveChart& chart) {
  CurveFrame frame;
  double largest = 0;
  for (const Curve& curve : chart.curves) {
    for (const double value : curve.values) largest = std::max(largest, Drawn(value));
    for (const Interval& interval : curve.intervals)
      largest = std::max(largest, Drawn(interval.high));
    for (const auto& [at, value] : curve.paper) largest = std::max(largest, Drawn(value));
    frame.places = std::max(frame.places, curve.values.size());
  }
  frame.axis = AxisTo(largest);
  return frame;
}

void DrawFrame(const CurveChart& chart, const CurveFrame& frame, Svg* svg) {
  const Axis& axis = frame.axis;
  for (int i = 0; i * axis.step <= axis.end * (1 + 1e-9); ++i) {
    const double y = frame.Up(i * axis.step);
    svg->Line("grid", frame.kLeft, y, frame.kRight, y);
    svg->Text("tick end", frame.kLeft - 5, y + 4, fmt::format("{:g}{}", i * axis.step, chart.unit));
  }
  for (size_t at = 1; at <= frame.places; at += (frame.places + 9) / 10)
    svg->Text("tick middle", frame.Across(at), frame.bottom() + 15, std::to_string(at));
  svg->Text("tick middle", (frame.kLeft + frame.kRight) / 2, frame.bottom() + 31, chart.across);
}

// Draws the curve of that kind and returns what the accessible name says of it.
std::string DrawCurve(const CurveChart& chart, const Curve& curve, int kind,
                      const CurveFrame& frame, Svg* svg) {
  std::string path, name = curve.name;
  for (size_t i = 0; i < curve.values.size(); ++i) {
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", frame.Across(i + 1),
                        frame.Up(curve.values[i]));
  }
  if (!path.empty()) svg->Path(fmt::format("curve c{}", kind), path);
  for (size_t i = 0; i < curve.values.size(); ++i) {
    const std::string figure = Figure(curve.values[i], chart.digits, chart.unit);
    std::string hover = fmt::format("{}, {} {}: {}", curve.name, chart.across, i + 1, figure);
    if (i < curve.intervals.size()) {
      const Interval& interval = curve.intervals[i];
      hover += fmt::format(" ({} to {})", Figure(interval.low, chart.digits, ""),
                           Figure(interval.high, chart.digits, ""));
      svg->Path("whisker",
                fmt::format("M{0:.1f} {1:.1f}h6m-3 0V{2:.1f}m-3 0h6", frame.Across(i + 1) - 3,
                            frame.Up(interval.high), frame.Up(interval.low)));
    }
    svg->Mark(kind, frame.Across(i + 1), frame.Up(curve.values[i]), hover);
    name += (i == 0 ? " " : ", ") + figure;
  }
  for (const auto& [at, value] : curve.paper) {
    if (at < 1 || at > frame.places) continue;
    const std::string figure = Figure(value, chart.digits, chart.unit);
    svg->Cross(frame.Across(at), frame.Up(value), fmt::format("paper, {}: {}", curve.name, figure));
    name += fmt::format(", paper at {} {}", at, figure);
  }
  return name;
}

}  // namespace

std::string DrawBars(const BarChart& chart) {
  double largest = chart.line;
  for (const Bar& bar : chart.bars) {
    largest = std::max({largest, Drawn(bar.value), Drawn(bar.paper.value_or(0)),
                        bar.whisker ? Drawn(bar.whisker->high) : 0});
  }
  const Axis axis = AxisTo(largest);
  const auto place = [&](double value) { return axis.Place(value, kEdge, kWidth - kEdge); };
  const double bottom = kRow * static_cast<double>(chart.bars.size());
  Svg svg;
  DrawTicksBelow(axis, 0, bottom, chart.unit, &svg);
  if (chart.line > 0) svg.Line("compare", place(chart.line), 0, place(chart.line), bottom);
  std::string name = chart.title + ":";
  double y = 0;
  for (const Bar& bar : chart.bars) {
    std::string paper;
    if (bar.paper) paper = ", paper " + Figure(*bar.paper, chart.digits, chart.unit);
    const std::string figure = Figure(bar.value, chart.digits, chart.unit);
    std::string hover = bar.label + " " + figure;
    if (bar.whisker) {
      hover += fmt::format(" ({} to {})", Figure(bar.whisker->low, chart.digits, ""),
                           Figure(bar.whisker->high, chart.digits, ""));
    }
    hover += paper;
    name += fmt::format("{} {}", &bar == &chart.bars.front() ? "" : ";", hover);
    svg.Text("label", kEdge, y + 12, Shortened(bar.label));
    svg.Text("figure end", kWidth - kEdge, y + 12, figure + paper);
    const double top = y + 18, middle = top + kBar / 2;
    svg.Rect("bar", kEdge, top, place(bar.value) - kEdge, kBar, hover);
    if (bar.paper) svg.Rect("paper", kEdge, top - 2, place(*bar.paper) - kEdge, kBar + 4, hover);
    if (bar.whisker) {
      const double low = place(bar.whisker->low), high = place(bar.whisker->high);
      svg.Path("whisker",
               fmt::format("M{0:.1f} {2:.1f}v8m0 -4H{1:.1f}m0 -4v8", low, high, middle - 4));
    }
    y += kRow;
  }
  return svg.Close(name, bottom + 18);
}

std::string DrawStacks(const StackChart& chart) {
  std::vector<LegendItem> items;
  for (size_t i = 0; i < chart.parts.size(); ++i)
    items.push_back({chart.parts[i], static_cast<int>(i)});
  double largest = 0;
  for (const Stack& stack : chart.stacks) {
    double sum = 0;
    for (const double part : stack.parts) sum += Drawn(part);
    largest = std::max(largest, sum);
  }
  const Axis axis = AxisTo(largest);
  const auto letter = [](size_t part) { return std::string(1, static_cast<char>('A' + part)); };
  Svg svg;
  const double top = DrawLegend(items, &svg, [&](const LegendItem& item, double x, double y) {
    const auto part = static_cast<size_t>(item.kind);
    svg.Rect(fmt::format("part p{}", part), x, y, 15, 15);
    svg.Text("letter middle", x + 7.5, y + 11.5, letter(part));
  });
  const double bottom = top + kRow * static_cast<double>(chart.stacks.size());
  DrawTicksBelow(axis, top, bottom, chart.unit, &svg);
  std::string name = chart.title + ":";
  double y = top;
  for (const Stack& stack : chart.stacks) {
    svg.Text("label", kEdge, y + 12, Shortened(stack.label));
    svg.Text("figure end", kWidth - kEdge, y + 12, stack.note);
    name += fmt::format("{} {}", &stack == &chart.stacks.front() ? "" : ";", stack.label);
    double sum = 0;
    for (size_t i = 0; i < std::min(stack.parts.size(), chart.parts.size()); ++i) {
      const double from = axis.Place(sum, kEdge, kWidth - kEdge);
      sum += Drawn(stack.parts[i]);
      const double width = axis.Place(sum, kEdge, kWidth - kEdge) - from;
      const std::string figure =
          fmt::format("{} {}", chart.parts[i], Figure(stack.parts[i], chart.digits, chart.unit));
      name += (i == 0 ? " " : ", ") + figure;
      svg.Rect(fmt::format("part p{}", i), from, y + 17, width, kBar + 3,
               stack.label + ": " + figure);
      if (width > 14) svg.Text("letter middle", from + width / 2, y + 28.5, letter(i));
    }
    y += kRow;
  }
  return svg.Close(name, bottom + 18);
}

std::string DrawCurves(const CurveChart& chart) {
  std::vector<LegendItem> items;
  for (const Curve& curve : chart.curves)
    items.push_back({curve.name, static_cast<int>(items.size()) % kKinds});
  if (std::any_of(chart.curves.begin(), chart.curves.end(),
                  [](const Curve& curve) { return !curve.paper.empty(); }))
    items.push_back({"paper", -1});
  Svg svg;
  CurveFrame frame = FrameOf(chart);
  frame.top = 6 + DrawLegend(items, &svg, [&](const LegendItem& item, double x, double y) {
                if (item.kind < 0) return svg.Cross(x + 7, y + 7);
                svg.Line(fmt::format("curve c{}", item.kind), x, y + 7, x + 16, y + 7);
                svg.Mark(item.kind, x + 8, y + 7);
              });
  DrawFrame(chart, frame, &svg);
  std::string name = chart.title + ":";
  int kind = 0;
  for (const Curve& curve : chart.curves) {
    name += (kind == 0 ? " " : "; ") + DrawCurve(chart, curve, kind % kKinds, frame, &svg);
    ++kind;
  }
  return svg.Close(name, frame.bottom() + 36);
}

}  // namespace schemafill
