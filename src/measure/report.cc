#include "measure/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "measure/figures.h"
#include "measure/html.h"
#include "measure/machine.h"
#include "measure/plots.h"
#include "measure/report_css.h"
#include "measure/tables.h"

namespace schemafill {
namespace {

struct Fact {
  std::string name;
  std::string text;
};

constexpr std::pair<std::string_view, std::string_view> kDefinitions[] = {
    {"AL",
     "acceptance length: committed tokens by target forwards of the decoding phase, sums over "
     "requests (5.1). Plain decoding has 1"},
    {"TPS",
     "committed tokens a second, end to end: prompt and prefill included, sums over requests "
     "(5.1)"},
    {"speed-up",
     "TPS by that of ar in the same launch, the median over launches (5.2); in Table 2 "
     "by that of stage A, eagle3 (5.3)"},
    {"decoding", "the same ratio without prompt and prefill; the paper does not give it"},
    {"agrees", "answers that are ar's, token by token (5.2)"},
    {"of oracle",
     "decoding rate as a share of a drafter's that knows the answer, under the same "
     "engine and plan; not in the paper"},
    {"±", "standard deviation over launches (C.4)"},
    {"nodes/verify", "drafted rows by target forwards, sums over requests (5.4, Table 3)"},
    {"cache", "bytes of the target's cache that a request keeps; reserved room is left out (C.2)"},
    {"phases", "forecast, drafting, verification, and the rest of the time after prefill (C.3)"},
    {"differ", "answers with a value that independent filling writes otherwise than ar (3.3, C.6)"},
    {"failed requests", "stay in the sums with their time and without tokens"},
    {"the paper",
     "one RTX PRO 6000, Qwen2.5-7B-Instruct in BF16: rates compare by their ratios "
     "only, and AL depends on the model"},
};

// A number or text as it stands in the header; empty: it is not there.
std::string TextOf(const Json& object, const char* name) {
  const Json value = object.value(name, Json());
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : DumpLine(value);
}

std::string TitleOf(const RunRecord& run) {
  if (const int figure = PaperFigureOf(run); figure > 0) return fmt::format("Figure {}", figure);
  const int table = PaperTableOf(run);
  if (table == 3) return "Table 3 and Figure 4";
  if (table > 0) return fmt::format("Table {}", table);
  return TextOf(run.header, "type") == "verify" ? "Equality with plain decoding" : "Methods";
}

// "bfcl (450 requests), single650 (650 requests)" and the methods, in the order in which they come.
std::pair<std::string, std::string> DataAndMethods(const RunRecord& run) {
  std::vector<std::string> datasets, methods;
  std::vector<std::set<std::string>> requests;
  const auto place = [](std::vector<std::string>* names, const std::string& name) {
    const auto found = std::find(names->begin(), names->end(), name);
    const auto at = static_cast<size_t>(found - names->begin());
    if (found == names->end()) names->push_back(name);
    return at;
  };
  for (const Sample& sample : run.samples) {
    const size_t at = place(&datasets, sample.dataset);
    requests.resize(datasets.size());
    requests[at].insert(sample.request + "\n" + sample.prompt);
    place(&methods, sample.method);
  }
  for (size_t i = 0; i < datasets.size(); ++i)
    datasets[i] += fmt::format(" ({} requests)", requests[i].size());
  return {fmt::format("{}", fmt::join(datasets, ", ")),
          fmt::format("{}", fmt::join(methods, ", "))};
}

std::vector<Fact> FactsOf(const RunRecord& run) {
  const Json& header = run.header;
  const Json settings = header.value("settings", Json::object());
  auto [data, methods] = DataAndMethods(run);
  std::vector<Fact> facts = {{"data sets", std::move(data)}, {"methods", std::move(methods)}};
  const auto add = [&](std::string name, std::string text) {
    if (!text.empty()) facts.push_back({std::move(name), std::move(text)});
  };
  add("launches", TextOf(header, "launches"));
  const std::string limit = TextOf(header, "limit");
  add("limit", limit.empty()  ? ""
               : limit == "0" ? "all requests"
                              : "the first " + limit + " requests of each data set");
  std::string model = TextOf(header, "model");
  if (const std::string weights = TextOf(header, "weights"); !weights.empty())
    model += ", " + weights;
  if (const double bytes = header.value("model_bytes", 0.0); bytes > 0)
    model += fmt::format(", {:.0f} MiB", bytes / (1 << 20));
  add("model", std::move(model));
  if (header.contains("machine")) add("machine", MachineText(header["machine"]));
  add("device", TextOf(header, "device"));
  add("threads", TextOf(header, "threads"));
  add("guarantee", TextOf(header, "guarantee"));
  add("version", TextOf(header, "version"));
  std::string rest;
  for (const auto& [name, value] : settings.items()) {
    if (name == "table" || name == "figure" || name == "threads") continue;
    rest += fmt::format("{}{} {}", rest.empty() ? "" : ", ", name, TextOf(settings, name.c_str()));
  }
  add("settings", std::move(rest));
  return facts;
}

// What the run says of schemafill, a sentence a data set.
std::vector<std::string> SummaryOf(const RunRecord& run) {
  std::vector<std::string> sentences;
  const std::string_view reference = ReferenceOf(PaperTableOf(run));
  for (const MethodFigures& m : MethodFiguresOf(run.samples, reference)) {
    if (m.method != "schemafill" || m.speedup.count == 0) continue;
    sentences.push_back(
        fmt::format("{}: schemafill is {:.2f} times as fast as {} end to end and {:.2f} times in "
                    "decoding, with "
                    "{:.2f} tokens a forward; {} of {} answers are those of ar.",
                    m.dataset, m.speedup.median, reference, m.decode_speedup.median, m.all.al(),
                    m.all.agreeing, m.all.samples));
  }
  return sentences;
}

// The run's own tables, and what methods there are where those don't say.
std::vector<Table> AllTablesOf(const RunRecord& run) {
  std::vector<Table> tables = TablesOf(run);
  const int table = PaperTableOf(run);
  if ((table >= 3 && table <= 5) || PaperFigureOf(run) == 2) {
    for (Table& more : MethodTablesOf(run)) tables.push_back(std::move(more));
  }
  std::erase_if(tables, [](const Table& t) { return t.rows.empty(); });
  return tables;
}

std::string Section(const ReportedRun& reported, size_t number) {
  const RunRecord& run = reported.run;
  std::string out = fmt::format("<section id=\"run{}\">\n<h2>{}: {}</h2>\n", number, TitleOf(run),
                                EscapeHtml(reported.file));
  for (const std::string& sentence : SummaryOf(run))
    out += fmt::format("<p>{}</p>\n", EscapeHtml(sentence));
  out += "<h3>What was run, and where</h3>\n<dl>\n";
  for (const auto& [name, text] : FactsOf(run))
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, EscapeHtml(text));
  out += "</dl>\n<h3>Tables</h3>\n";
  const std::vector<Table> tables = AllTablesOf(run);
  if (tables.empty()) out += "<p>No request has been answered by every method yet.</p>\n";
  for (const Table& table : tables) {
    // A table that is wider than a phone scrolls, also by keyboard.
    out += fmt::format(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n",
        EscapeHtml(table.title), ToHtml(table));
  }
  const std::vector<Plot> plots = PlotsOf(run);
  if (!plots.empty()) out += "<h3>Plots</h3>\n<div class=\"plots\">\n";
  for (const Plot& plot : plots) {
    out +=
        fmt::format("<figure>\n<figcaption><b>{}</b><span>{}</span></figcaption>\n{}\n</figure>\n",
                    EscapeHtml(plot.title), EscapeHtml(plot.note), plot.svg);
  }
  return out + (plots.empty() ? "" : "</div>\n") + "</section>\n";
}

}  // namespace

std::string ReportPage(std::span<const ReportedRun> runs) {
  std::string out = fmt::format(
      R"(<!doctype html>
<!-- A report of SchemaFill. Made by `schemafill report`; it loads nothing. -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>SchemaFill, measured</title>
<style>
{}</style>
</head>
<body>
<main>
<h1>SchemaFill, measured</h1>
<p class="soft">The paper's tables and figures from runs of <code>schemafill bench</code>, each beside the paper's own.</p>
)",
      kReportCss);
  if (runs.size() > 1) {
    out += "<nav aria-label=\"Runs\"><ul>\n";
    for (size_t i = 0; i < runs.size(); ++i)
      out += fmt::format("<li><a href=\"#run{}\">{}: {}</a></li>\n", i + 1, TitleOf(runs[i].run),
                         EscapeHtml(runs[i].file));
    out += "</ul></nav>\n";
  }
  for (size_t i = 0; i < runs.size(); ++i) out += Section(runs[i], i + 1);
  out +=
      "<section>\n<h2>How the figures are defined</h2>\n<p class=\"soft\">In parentheses: "
      "sections of the paper.</p>\n<dl>\n";
  for (const auto& [name, text] : kDefinitions)
    out += fmt::format("<dt>{}</dt><dd>{}.</dd>\n", name, text);
  return out + "</dl>\n</section>\n</main>\n</body>\n</html>\n";
}

std::string ReportMarkdown(std::span<const ReportedRun> runs) {
  std::string out = "# SchemaFill, measured\n";
  for (const ReportedRun& reported : runs) {
    out += fmt::format("\n## {}: {}\n\n", TitleOf(reported.run), reported.file);
    for (const std::string& sentence : SummaryOf(reported.run)) out += sentence + "\n\n";
    for (const auto& [name, text] : FactsOf(reported.run))
      out += fmt::format("- {}: {}\n", name, text);
    for (const Table& table : AllTablesOf(reported.run)) out += "\n" + ToMarkdown(table);
  }
  out += "\n## How the figures are defined\n\nIn parentheses: sections of the paper.\n\n";
  for (const auto& [name, text] : kDefinitions) out += fmt::format("- {}: {}.\n", name, text);
  return out;
}

}  // namespace schemafill
