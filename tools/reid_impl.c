#define REID_IMPLEMENTATION
#include "reid.h"
