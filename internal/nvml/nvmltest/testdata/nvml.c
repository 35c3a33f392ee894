/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1 for tests: the functions and the layouts that nvml.h declares, which tell
 * what player.h reads. Built with -DOLD it lacks what libraries of old drivers lack.
 */
#include "player.h"

static u32 count(void)
{
	u32 n = 0;
	char name[16];
	for (; n < GPUS; n++) {
		snprintf(name, sizeof(name), "gpu%u", n);
		if (!fact(name, "pci", 0, 0))
			break;
	}
	return n;
}

int nvmlInit_v2(void)
{
	static int control;
	int bad = fault("init");
	if (bad)
		return bad;
	if (!sameVersion())
		return OTHER_VERSION;
	switch (openNode("nvidiactl", &control)) {
	case OK:
		return OK;
	case EACCES:
		return NO_PERMISSION;
	case EPERM: /* a device cgroup: users of NVIDIA's library read "Unknown Error" then */
		return UNKNOWN;
	default:
		return NO_DRIVER;
	}
}

static int text(char *buffer, u32 size, const char *of, const char *key)
{
	char value[256];
	if (!fact(of, key, value, sizeof(value)))
		return UNSUPPORTED;
	if (strlen(value) >= size)
		return TOO_SHORT;
	strcpy(buffer, value);
	return OK;
}

/* Called by NVIDIA's package for CDI, and by no program of ours. */
int nvmlShutdown(void) { return OK; }

int nvmlSystemGetDriverVersion(char *buffer, u32 size) { return text(buffer, size, "", "driver"); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return number("", "cuda", (u32 *)version); }
int nvmlDeviceGetCount_v2(u32 *n) { *n = count(); return OK; }

int nvmlDeviceGetHandleByIndex_v2(u32 index, gpu **handle)
{
	char name[32];
	u32 minor = index;
	if (index >= count())
		return INVALID;
	gpu *g = &gpus[index];
	g->index = index;
	snprintf(name, sizeof(name), "handle%u", index);
	int bad = fault(name);
	if (bad)
		return bad;
	snprintf(g->name, sizeof(g->name), "gpu%u", index);
	number(g->name, "minor", &minor);
	snprintf(name, sizeof(name), "nvidia%u", minor);
	bad = openNode(name, &g->node);
	if (bad)
		return bad == EPERM || bad == EACCES ? NO_PERMISSION : UNKNOWN;
	*handle = g;
	return OK;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *busId, gpu **handle)
{
	for (u32 i = 0; i < count(); i++) {
		char name[16], own[32];
		snprintf(name, sizeof(name), "gpu%u", i);
		if (fact(name, "pci", own, sizeof(own)) && !strcmp(own, busId))
			return nvmlDeviceGetHandleByIndex_v2(i, handle);
	}
	return NOT_FOUND;
}

typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char busId[32]; } pciInfo;

static void fillPCI(pciInfo *info, const char *address)
{
	memset(info, 0, sizeof(*info));
	sscanf(address, "%x:%x:%x", &info->domain, &info->bus, &info->device);
	snprintf(info->legacy, sizeof(info->legacy), "%04X:%02X:%02X.0", info->domain & 0xffff, info->bus & 0xff, info->device & 0xff);
	snprintf(info->busId, sizeof(info->busId), "%08X:%02X:%02X.0", info->domain, info->bus & 0xff, info->device & 0xff);
}

int nvmlDeviceGetPciInfo_v3(gpu *g, pciInfo *info)
{
	char address[32];
	if (!fact(g->name, "pci", address, sizeof(address)))
		return UNKNOWN;
	fillPCI(info, address);
	return OK;
}

int nvmlDeviceGetUUID(gpu *g, char *buffer, u32 size) { CHECK(g); return text(buffer, size, g->name, "uuid"); }
int nvmlDeviceGetName(gpu *g, char *buffer, u32 size) { CHECK(g); return text(buffer, size, g->name, "name"); }
int nvmlDeviceGetVbiosVersion(gpu *g, char *buffer, u32 size) { CHECK(g); return text(buffer, size, g->name, "vbios"); }
int nvmlDeviceGetMinorNumber(gpu *g, u32 *minor) { CHECK(g); return number(g->name, "minor", minor); }
int nvmlDeviceGetArchitecture(gpu *g, u32 *architecture) { CHECK(g); return number(g->name, "architecture", architecture); }
int nvmlDeviceGetTemperature(gpu *g, u32 sensor, u32 *celsius) { CHECK(g); return sensor ? INVALID : number(g->name, "temperature", celsius); }
int nvmlDeviceGetPowerUsage(gpu *g, u32 *milliwatts) { CHECK(g); return number(g->name, "power", milliwatts); }
int nvmlDeviceGetPersistenceMode(gpu *g, u32 *mode) { CHECK(g); return number(g->name, "persistence", mode); }

/* The first numbers of a fact, each where its pointer says. */
static int spread(gpu *g, const char *key, int want, u32 **places)
{
	u64 n[5];
	CHECK(g);
	if (numbers(g->name, key, n) < want)
		return UNSUPPORTED;
	for (int i = 0; i < want; i++)
		*places[i] = (u32)n[i];
	return OK;
}

int nvmlDeviceGetCudaComputeCapability(gpu *g, int *major, int *minor) { return spread(g, "capability", 2, (u32 *[]){(u32 *)major, (u32 *)minor}); }
int nvmlDeviceGetEccMode(gpu *g, u32 *current, u32 *pending) { return spread(g, "ecc", 2, (u32 *[]){current, pending}); }

int nvmlDeviceGetTotalEccErrors(gpu *g, u32 kind, u32 counter, u64 *value)
{
	u64 n[5];
	CHECK(g);
	if (kind != 1 || counter > 1 || numbers(g->name, "uncorrectable", n) < 2)
		return UNSUPPORTED;
	*value = n[counter];
	return OK;
}

typedef struct { u64 total, free, used; } memory;

/* In MiB: all, what processes use, what the driver reserves. */
int nvmlDeviceGetMemoryInfo(gpu *g, memory *m)
{
	u64 n[5];
	CHECK(g);
	if (numbers(g->name, "memory", n) < 3)
		return UNSUPPORTED;
	m->total = n[0] << 20, m->used = (n[1] + n[2]) << 20;
	m->free = m->total - m->used;
	return OK;
}

typedef struct { u32 gpu, memory; } utilization;
int nvmlDeviceGetUtilizationRates(gpu *g, utilization *rates) { return spread(g, "utilization", 2, (u32 *[]){&rates->gpu, &rates->memory}); }

/* A link: active, version, kind of the other end, rate in MB/s, address of the other end. */
static int link_(gpu *g, u32 index, u64 *n, char *address)
{
	char key[16], value[128];
	CHECK(g);
	snprintf(key, sizeof(key), "link%u", index);
	if (!fact(g->name, key, value, sizeof(value)))
		return fact(g->name, "link0", 0, 0) ? INVALID : UNSUPPORTED;
	*address = 0;
	sscanf(value, "%llu %llu %llu %llu %31s", &n[0], &n[1], &n[2], &n[3], address);
	return OK;
}

#define LINK(g, index) u64 n[4] = {0}; char address[32]; int bad = link_(g, index, n, address); if (bad) return bad

int nvmlDeviceGetNvLinkState(gpu *g, u32 index, u32 *active) { LINK(g, index); *active = (u32)n[0]; return OK; }
int nvmlDeviceGetNvLinkVersion(gpu *g, u32 index, u32 *version) { LINK(g, index); *version = (u32)n[1]; return OK; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu *g, u32 index, pciInfo *info) { LINK(g, index); fillPCI(info, address); return *address ? OK : UNSUPPORTED; }

#ifndef OLD
int nvmlDeviceGetNvLinkRemoteDeviceType(gpu *g, u32 index, u32 *kind) { LINK(g, index); *kind = (u32)n[2]; return OK; }

typedef struct { u32 version; u64 total, reserved, free, used; } memory2;

int nvmlDeviceGetMemoryInfo_v2(gpu *g, memory2 *m)
{
	u64 n[5];
	CHECK(g);
	if (m->version != (sizeof(*m) | 2 << 24))
		return BAD_VERSION;
	if (numbers(g->name, "memory", n) < 3)
		return UNSUPPORTED;
	m->total = n[0] << 20, m->used = n[1] << 20, m->reserved = n[2] << 20;
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
	return s->version != (sizeof(*s) | 1 << 24) ? BAD_VERSION : number(g->name, "sram", &s->exceeded);
}

int nvmlDeviceGetRemappedRows(gpu *g, u32 *correctable, u32 *uncorrectable, u32 *pending, u32 *failed)
{
	return spread(g, "remapped", 4, (u32 *[]){correctable, uncorrectable, pending, failed});
}

int nvmlDeviceGetRetiredPagesPendingStatus(gpu *g, u32 *pending) { CHECK(g); return number(g->name, "retired", pending); }

typedef struct { u32 id, scope; long long timestamp, latency; u32 type; int result; u64 value; } field;

int nvmlDeviceGetFieldValues(gpu *g, int n, field *fields)
{
	CHECK(g);
	for (int i = 0; i < n; i++) {
		u32 value = 0;
		u64 link[4] = {0};
		char address[32];
		fields[i].type = 1;
		fields[i].result = UNSUPPORTED;
		if (fields[i].id == 164 && !link_(g, fields[i].scope, link, address) && link[3])
			value = (u32)link[3], fields[i].result = OK;
		else if (fields[i].id == 230)
			fields[i].result = number(g->name, "recovery", &value);
		/* Only the lower half of the union belongs to an unsigned int. */
		fields[i].value = 0xffffffff00000000ull | value;
	}
	return OK;
}

typedef struct { u32 version; unsigned char cluster[16]; u32 status, clique; unsigned char state; u32 mask; unsigned char summary; } fabric3;

/* State, status, clique, summary of health, and the cluster in hexadecimal digits. */
int nvmlDeviceGetGpuFabricInfoV(gpu *g, fabric3 *f)
{
	char value[128], cluster[40] = "";
	u32 n[4] = {0};
	CHECK(g);
	if (!fact(g->name, "fabric", value, sizeof(value)))
		return UNSUPPORTED;
	if (f->version != (sizeof(*f) | 3 << 24))
		return BAD_VERSION;
	sscanf(value, "%u %u %u %u %32s", &n[0], &n[1], &n[2], &n[3], cluster);
	for (int i = 0; i < 16; i++) {
		unsigned int byte = 0;
		sscanf(cluster + 2 * i, "%2x", &byte);
		f->cluster[i] = (unsigned char)byte;
	}
	f->state = (unsigned char)n[0], f->status = n[1], f->clique = n[2], f->mask = 0, f->summary = (unsigned char)n[3];
	return OK;
}

int nvmlDeviceGetMigMode(gpu *g, u32 *current, u32 *pending) { return spread(g, "mig", 2, (u32 *[]){current, pending}); }
int nvmlDeviceGetMaxMigDeviceCount(gpu *g, u32 *n) { CHECK(g); *n = 7; return OK; }

int nvmlDeviceGetMigDeviceHandleByIndex(gpu *g, u32 index, gpu **handle)
{
	CHECK(g);
	static gpu migs[GPUS][MIGS];
	if (index >= MIGS)
		return INVALID;
	gpu *mig = &migs[g->index][index];
	*mig = (gpu){.index = g->index, .isMIG = 1};
	snprintf(mig->name, sizeof(mig->name), "gpu%u.mig%u", g->index, index);
	*handle = mig;
	return fact(mig->name, "instances", 0, 0) ? OK : NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(gpu *g, u32 *id) { return spread(g, "instances", 1, (u32 *[]){id}); }
int nvmlDeviceGetComputeInstanceId(gpu *g, u32 *id) { u32 parent; return spread(g, "instances", 2, (u32 *[]){&parent, id}); }

typedef struct { u32 sms, copy, dec, enc, jpeg, ofa, slices, ciSlices; u64 memoryMiB; } attributes;

int nvmlDeviceGetAttributes_v2(gpu *g, attributes *a)
{
	u32 memoryMiB = 0;
	memset(a, 0, sizeof(*a));
	if (spread(g, "memory", 1, (u32 *[]){&memoryMiB}))
		return UNSUPPORTED;
	a->memoryMiB = memoryMiB;
	return spread(g, "slices", 2, (u32 *[]){&a->slices, &a->ciSlices});
}

#include "events.h"
#endif
