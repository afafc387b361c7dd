#include <schemafill/version.h>

#include <iostream>

int main() { std::cout << "consumer of schemafill " << schemafill::Version() << "\n"; }
