#include <iostream>

#include "base/version.h"

int main() {
  std::cout << "schemafill " << schemafill::Version() << "\n";
  return 0;
}
