/*
 * A stand-in for NVIDIA's libcuda.so.1 for tests: two functions of cuda.h. Its devices are the GPUs whose nodes this process
 * can open, as with NVIDIA's own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { OK = 0, NO_DEVICE = 100, GPUS = 16 };

static int opens(const char *path)
{
	int node = open(path, O_RDWR | O_CLOEXEC);
	if (node < 0)
		return 0;
	close(node);
	return 1;
}

int cuInit(unsigned int flags)
{
	(void)flags;
	return opens("/dev/nvidiactl") && opens("/dev/nvidia-uvm") ? OK : NO_DEVICE;
}

int cuDeviceGetCount(int *count)
{
	*count = 0;
	for (int minor = 0; minor < GPUS; minor++) {
		char path[32];
		snprintf(path, sizeof(path), "/dev/nvidia%d", minor);
		*count += opens(path);
	}
	return OK;
}
