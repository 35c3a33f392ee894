/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1 for tests: the functions and the layouts that nvml.h declares, with made-up
 * answers. The file `scenario` beside the library says what host it plays. Built with -DOLD it lacks what libraries of
 * old drivers lack.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct gpu gpu;

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, NO_DRIVER = 9, TIMEOUT = 10, LOST = 15, BAD_VERSION = 25 };

struct gpu {
	u32 index, bus, minor;
	gpu *mig[2];
	/* Of a MIG device. */
	gpu *parent;
	u32 gi, ci, slices, ciSlices;
	u64 totalMiB, usedMiB;
	const char *profile;
};

static char scenario[64];
static gpu gpus[8];
static gpu migs[2];
static u32 count;

static int is(const char *name) { return strcmp(scenario, name) == 0; }

static void readScenario(void)
{
	Dl_info self;
	char path[4096];
	FILE *file;
	if (!dladdr((void *)readScenario, &self))
		return;
	snprintf(path, sizeof(path), "%s", self.dli_fname);
	char *slash = strrchr(path, '/');
	if (!slash)
		return;
	snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "scenario");
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(scenario, sizeof(scenario), file))
		scenario[strcspn(scenario, "\n")] = 0;
	fclose(file);
}

int nvmlInit_v2(void)
{
	static const u32 buses[8] = {0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf};
	readScenario();
	if (is("no-driver"))
		return NO_DRIVER;
	while (is("hang"))
		pause();
	count = is("nvswitch") ? 8 : is("mig") ? 1 : 2;
	for (u32 i = 0; i < count; i++) {
		/* Numbers run against the addresses, as drivers may have it. */
		gpus[i] = (gpu){.index = i, .bus = buses[count - 1 - i], .minor = count - 1 - i, .totalMiB = is("pair") ? 49140 : 81559, .usedMiB = 1200 + i};
	}
	if (is("mig")) {
		migs[0] = (gpu){.parent = gpus, .gi = 2, .ci = 0, .slices = 3, .ciSlices = 3, .totalMiB = 40448, .usedMiB = 2048, .profile = "3g.40gb"};
		migs[1] = (gpu){.parent = gpus, .gi = 9, .ci = 1, .slices = 2, .ciSlices = 1, .totalMiB = 20096, .usedMiB = 0, .profile = 0};
		gpus[0].mig[0] = &migs[0];
		gpus[0].mig[1] = &migs[1];
	}
	return OK;
}

/* What happens to a call about the GPU before it is answered. */
static int state(gpu *g)
{
	if (is("lost") && !g->parent && g->index == 1)
		return LOST;
	if (is("crash"))
		*(volatile int *)0 = 1;
	while (is("hang-gpu") && g->index == 1)
		pause();
	return OK;
}
#define CHECK(g) do { int bad = state(g); if (bad) return bad; } while (0)

static int text(char *buffer, u32 size, const char *value)
{
	if (strlen(value) >= size)
		return 7;
	strcpy(buffer, value);
	return OK;
}

int nvmlSystemGetDriverVersion(char *buffer, u32 size) { return text(buffer, size, "580.105.08"); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }
int nvmlDeviceGetCount_v2(u32 *n) { *n = count; return OK; }

int nvmlDeviceGetHandleByIndex_v2(u32 index, gpu **handle)
{
	if (is("lost-handle") && index == 1)
		return LOST;
	*handle = &gpus[index];
	return OK;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *busId, gpu **handle)
{
	for (u32 i = 0; i < count; i++) {
		char own[32];
		snprintf(own, sizeof(own), "0000:%02x:00.0", gpus[i].bus);
		if (strcmp(own, busId))
			continue;
		if (is("lost-handle") && i == 1)
			return LOST;
		*handle = &gpus[i];
		return OK;
	}
	return NOT_FOUND;
}

typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char busId[32]; } pciInfo;

static void fillPCI(pciInfo *info, u32 bus)
{
	memset(info, 0, sizeof(*info));
	info->bus = bus;
	snprintf(info->legacy, sizeof(info->legacy), "0000:%02X:00.0", bus);
	snprintf(info->busId, sizeof(info->busId), "00000000:%02X:00.0", bus);
}

int nvmlDeviceGetPciInfo_v3(gpu *g, pciInfo *info) { fillPCI(info, g->bus); return OK; }

int nvmlDeviceGetUUID(gpu *g, char *buffer, u32 size)
{
	char value[64];
	CHECK(g);
	if (g->parent)
		snprintf(value, sizeof(value), "MIG-%08d-0000-0000-0000-000000000000", g->gi);
	else
		snprintf(value, sizeof(value), "GPU-%08d-0000-0000-0000-000000000000", g->index);
	return text(buffer, size, value);
}

int nvmlDeviceGetName(gpu *g, char *buffer, u32 size)
{
	CHECK(g);
	char value[96];
	const char *product = is("pair") ? "NVIDIA RTX A6000" : "NVIDIA H100 80GB HBM3";
	snprintf(value, sizeof(value), "%s%s%s", product, g->profile ? " MIG " : "", g->profile ? g->profile : "");
	return text(buffer, size, value);
}

int nvmlDeviceGetVbiosVersion(gpu *g, char *buffer, u32 size) { CHECK(g); return text(buffer, size, "96.00.A5.00.01"); }
int nvmlDeviceGetMinorNumber(gpu *g, u32 *minor) { CHECK(g); *minor = g->minor; return OK; }
int nvmlDeviceGetArchitecture(gpu *g, u32 *architecture) { CHECK(g); *architecture = is("pair") ? 7 : 9; return OK; }

int nvmlDeviceGetCudaComputeCapability(gpu *g, int *major, int *minor)
{
	CHECK(g);
	*major = is("pair") ? 8 : 9;
	*minor = is("pair") ? 6 : 0;
	return OK;
}

typedef struct { u64 total, free, used; } memory;

int nvmlDeviceGetMemoryInfo(gpu *g, memory *m)
{
	CHECK(g);
	u64 reserved = g->parent ? 0 : 480;
	m->total = g->totalMiB << 20;
	m->used = (g->usedMiB + reserved) << 20;
	m->free = m->total - m->used;
	return OK;
}

int nvmlDeviceGetTemperature(gpu *g, u32 sensor, u32 *celsius) { CHECK(g); if (sensor) return INVALID; *celsius = 34; return OK; }
int nvmlDeviceGetPowerUsage(gpu *g, u32 *milliwatts) { CHECK(g); *milliwatts = 70120; return OK; }
int nvmlDeviceGetPersistenceMode(gpu *g, u32 *mode) { CHECK(g); *mode = 1; return OK; }
int nvmlDeviceGetEccMode(gpu *g, u32 *current, u32 *pending) { CHECK(g); *current = *pending = 1; return OK; }
int nvmlDeviceGetTotalEccErrors(gpu *g, u32 kind, u32 counter, u64 *n) { CHECK(g); *n = kind == 1 ? counter * 3 : 99; return OK; }

typedef struct { u32 gpu, memory; } utilization;
int nvmlDeviceGetUtilizationRates(gpu *g, utilization *rates) { CHECK(g); if (is("mig")) return UNSUPPORTED; rates->gpu = 42; rates->memory = 7; return OK; }

int nvmlDeviceGetNvLinkState(gpu *g, u32 link, u32 *active)
{
	CHECK(g);
	if (is("nvswitch") && link < 18) {
		*active = !(g->index == 0 && link == 17); /* one link of one GPU is down */
		return OK;
	}
	if (is("pair") && link < 4) {
		*active = 1;
		return OK;
	}
	return is("nvswitch") || is("pair") ? INVALID : UNSUPPORTED;
}

int nvmlDeviceGetNvLinkVersion(gpu *g, u32 link, u32 *version) { CHECK(g); (void)link; *version = is("pair") ? 5 : 6; return OK; }

int nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu *g, u32 link, pciInfo *info)
{
	CHECK(g);
	fillPCI(info, is("pair") ? gpus[1 - g->index].bus : 5 + link % 4);
	return OK;
}

#ifndef OLD
int nvmlDeviceGetNvLinkRemoteDeviceType(gpu *g, u32 link, u32 *kind) { CHECK(g); (void)link; *kind = is("pair") ? 0 : 2; return OK; }

typedef struct { u32 version; u64 total, reserved, free, used; } memory2;

int nvmlDeviceGetMemoryInfo_v2(gpu *g, memory2 *m)
{
	CHECK(g);
	if (m->version != (sizeof(*m) | 2 << 24))
		return BAD_VERSION;
	m->total = g->totalMiB << 20;
	m->used = g->usedMiB << 20;
	m->reserved = g->parent ? 0 : 480ull << 20;
	m->free = m->total - m->used - m->reserved;
	return OK;
}

typedef struct {
	u32 version;
	u64 parity, secded, correctable, volatileParity, volatileSecded, volatileCorrectable, l2, sm, pcie, mcu, other;
	u32 exceeded;
} sram;

int nvmlDeviceGetSramEccErrorStatus(gpu *g, sram *s)
{
	CHECK(g);
	if (s->version != (sizeof(*s) | 1 << 24))
		return BAD_VERSION;
	s->exceeded = 0;
	return OK;
}

int nvmlDeviceGetRemappedRows(gpu *g, u32 *correctable, u32 *uncorrectable, u32 *pending, u32 *failed)
{
	CHECK(g);
	*correctable = 1, *uncorrectable = 2, *pending = 0, *failed = 0;
	return OK;
}

int nvmlDeviceGetRetiredPagesPendingStatus(gpu *g, u32 *pending) { CHECK(g); (void)pending; return UNSUPPORTED; }

typedef struct { u32 id, scope; long long timestamp, latency; u32 type; int result; u64 value; } field;

int nvmlDeviceGetFieldValues(gpu *g, int n, field *fields)
{
	CHECK(g);
	for (int i = 0; i < n; i++) {
		fields[i].result = OK;
		fields[i].type = 1;
		/* Only the lower half of the union belongs to an unsigned int. */
		fields[i].value = 0xffffffff00000000ull;
		if (fields[i].id == 164)
			fields[i].value |= is("pair") ? 14062 : 26562;
		else if (fields[i].id == 230)
			fields[i].value |= 0;
		else
			fields[i].result = UNSUPPORTED;
	}
	return OK;
}

typedef struct { u32 version; unsigned char cluster[16]; u32 status, clique; unsigned char state; u32 mask; unsigned char summary; } fabric3;

int nvmlDeviceGetGpuFabricInfoV(gpu *g, fabric3 *f)
{
	CHECK(g);
	if (!is("nvswitch"))
		return UNSUPPORTED;
	if (f->version != (sizeof(*f) | 3 << 24))
		return BAD_VERSION;
	for (int i = 0; i < 16; i++)
		f->cluster[i] = (unsigned char)(0xa0 + i);
	f->status = 0, f->clique = 5, f->state = 3, f->mask = 0, f->summary = 1;
	return OK;
}

int nvmlDeviceGetMigMode(gpu *g, u32 *current, u32 *pending)
{
	CHECK(g);
	if (is("pair"))
		return UNSUPPORTED;
	*current = *pending = is("mig");
	return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(gpu *g, u32 *n) { CHECK(g); *n = 7; return OK; }

int nvmlDeviceGetMigDeviceHandleByIndex(gpu *g, u32 index, gpu **handle)
{
	CHECK(g);
	/* Numbers have gaps: 1 and 4. */
	if (index != 1 && index != 4)
		return NOT_FOUND;
	*handle = g->mig[index == 4];
	return OK;
}

int nvmlDeviceGetGpuInstanceId(gpu *g, u32 *id) { *id = g->gi; return OK; }
int nvmlDeviceGetComputeInstanceId(gpu *g, u32 *id) { *id = g->ci; return OK; }

typedef struct { u32 sms, copy, dec, enc, jpeg, ofa, slices, ciSlices; u64 memoryMiB; } attributes;

int nvmlDeviceGetAttributes_v2(gpu *g, attributes *a)
{
	memset(a, 0, sizeof(*a));
	a->slices = g->slices, a->ciSlices = g->ciSlices, a->memoryMiB = g->totalMiB;
	return OK;
}

static u32 waits;

int nvmlEventSetCreate(void **set) { *set = &waits; return OK; }
int nvmlDeviceGetSupportedEventTypes(gpu *g, u64 *types) { CHECK(g); *types = 0x1f; return OK; }
int nvmlDeviceRegisterEvents(gpu *g, u64 types, void *set) { CHECK(g); return set == &waits && (types & 8) ? OK : INVALID; }

typedef struct { gpu *device; u64 type, data; u32 gi, ci; } event;

int nvmlEventSetWait_v2(void *set, event *e, u32 milliseconds)
{
	(void)set;
	switch (is("quiet") ? 4 : waits++) {
	case 0:
		*e = (event){&gpus[0], 8, 79, 0xffffffff, 0xffffffff};
		return OK;
	case 1:
		return TIMEOUT;
	case 2:
		*e = (event){&gpus[1], 2, 0, 3, 0};
		return OK;
	case 3:
		/* The end: a real library would wait on. */
		return LOST;
	}
	usleep(milliseconds * 1000);
	return TIMEOUT;
}
#endif
