// A library that is no backend module.
extern "C" __attribute__((visibility("default"))) int stranger();
int stranger() { return 1; }
