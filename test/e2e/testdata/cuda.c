/* What every CUDA program does first: it loads libcuda by the loader, and counts its devices. It stays until it is killed. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver || dlopen("libcuda.so", RTLD_NOW) != driver) {
		printf("%s\n", dlerror());
		return 1;
	}
	int (*init)(unsigned int) = (int (*)(unsigned int))dlsym(driver, "cuInit");
	int (*count)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
	int devices = 0, bad = init(0);
	if (!bad)
		bad = count(&devices);
	printf("error %d, %d devices\n", bad, devices);
	fflush(stdout);
	if (!bad)
		pause();
	return bad;
}
