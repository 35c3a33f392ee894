/* What NVIDIA's package calls of the library, and rankwright-nvml does not. */
__attribute__((weak)) int nvmlShutdown(void) { return 0; }
