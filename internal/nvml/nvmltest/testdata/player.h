/*
 * What the stand-in for NVML tells is in the file libnvidia-ml.facts beside it, one `KEY VALUE` a line, which is read anew
 * with every call; a fact that is not there is not supported. Keys `fault.…` have a code to fail with, `hang` or `crash`.
 * As NVIDIA's library it opens its device nodes, and refuses a driver of another version than its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;

enum {
	OK = 0, INVALID = 2, UNSUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, TOO_SHORT = 7, NO_DRIVER = 9, TIMEOUT = 10,
	LOST = 15, OTHER_VERSION = 18, BAD_VERSION = 25, UNKNOWN = 999,
};
enum { GPUS = 16, MIGS = 8 };

/* A GPU, or one of its MIG devices. The name is the beginning of its keys: gpu0, gpu0.mig1. */
typedef struct { u32 index; int isMIG, node; char name[24]; } gpu;
static gpu gpus[GPUS];

/* The file beside the library, or the library itself by its last name where the suffix is empty. */
static void beside(char *path, const char *suffix)
{
	Dl_info self;
	char own[PATH_MAX];
	if (!dladdr((void *)beside, &self) || !realpath(self.dli_fname, own)) {
		*path = 0;
		return;
	}
	if (*suffix)
		snprintf(path, PATH_MAX, "%s/libnvidia-ml.%s", dirname(own), suffix);
	else
		strcpy(path, own);
}

/* The value of a key; false where there is none. */
static int fact(const char *of, const char *key, char *value, size_t size)
{
	char path[PATH_MAX], line[512], whole[64];
	int found = 0;
	beside(path, "facts");
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	int length = snprintf(whole, sizeof(whole), "%s%s%s ", of, *of && *key ? "." : "", key);
	while (!found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		found = !strncmp(line, whole, (size_t)length);
	}
	fclose(file);
	if (found && value)
		snprintf(value, size, "%s", line + length);
	return found;
}

/* Up to five numbers of a value, and how many there are. */
static int numbers(const char *of, const char *key, u64 *n)
{
	char value[256];
	if (!fact(of, key, value, sizeof(value)))
		return 0;
	return sscanf(value, "%llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3], &n[4]);
}

static int number(const char *of, const char *key, u32 *value)
{
	u64 n[5];
	if (numbers(of, key, n) < 1)
		return UNSUPPORTED;
	*value = (u32)n[0];
	return OK;
}

/* What happens to a call before it is answered. */
static int fault(const char *of)
{
	char value[16];
	if (!fact("fault", of, value, sizeof(value)))
		return OK;
	while (!strcmp(value, "hang"))
		pause();
	if (!strcmp(value, "crash"))
		*(volatile int *)0 = 1;
	return atoi(value);
}

static int faultOf(gpu *g)
{
	char of[16];
	snprintf(of, sizeof(of), "gpu%u", g->index);
	return fault(of);
}
#define CHECK(g) do { int bad = faultOf(g); if (bad) return bad; } while (0)

/* Opens a device node as the driver's clients do, and keeps it open. */
static int openNode(const char *name, int *node)
{
	char folder[256] = "/dev", path[300];
	if (*node > 0)
		return OK;
	fact("", "dev", folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	*node = open(path, O_RDWR | O_CLOEXEC);
	return *node > 0 ? OK : errno;
}

/* The library's version is at the end of its file's name; the kernel's driver has its own. */
static int sameVersion(void)
{
	char own[PATH_MAX], driver[64];
	beside(own, "");
	const char *version = strstr(own, ".so.");
	return !version || !strcmp(version, ".so.1") || !fact("", "driver", driver, sizeof(driver)) || !strcmp(version + 4, driver);
}
