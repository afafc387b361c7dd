// The public header is the one declaration; this name keeps includes inside src/ uniform.
#pragma once

#include <schemafill/version.h>
