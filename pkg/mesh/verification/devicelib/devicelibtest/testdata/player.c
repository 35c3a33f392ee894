// A library that plays CUDA's driver and NCCL between processes: each rank says where it is, and what is sent lies in files of
// the folder $PLAYER_FOLDER until it is received. It has the functions that package nccl binds, with the prototypes of cuda.h
// and nccl.h.
//
// A GPU is called $PLAYER_POD/ORDINAL. The file `faults` in the folder has a line for each fault: `slow A B MICROSECONDS` for
// every message from A to B, `broken A B` for messages that never come, `wrong A B` for changed ones, `hang A` for a GPU whose
// calls never return.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { NOT_READY = 600, IN_PROGRESS = 7, MAX_RANKS = 64, NAME = 64, PATH = 512 };

typedef struct { char bytes[128]; } ncclUniqueId;
struct config { size_t size; unsigned magic, version; int blocking; };

typedef struct {
	char folder[PATH], names[MAX_RANKS][NAME];
	int ranks, rank, joined, sums, sent[MAX_RANKS], taken[MAX_RANKS];
} Comm;

// A stream has one call under way at a time: callers await each.
typedef struct { int waits, peer, number; char *out; const char *in; size_t bytes; Comm *comm; double until; } Stream;

static __thread int current = -1;

static const char *where(void) {
	const char *folder = getenv("PLAYER_FOLDER");
	return folder ? folder : "/nonexistent";
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

// fault returns whether there is a fault between two GPUs, and its number.
static int fault(const char *kind, const char *a, const char *b, double *number) {
	char path[PATH], line[256], k[32], x[NAME], y[NAME];
	double n = 0;
	int found = 0;
	snprintf(path, sizeof path, "%s/faults", where());
	FILE *file = fopen(path, "r");
	if (!file) return 0;
	while (!found && fgets(line, sizeof line, file)) {
		x[0] = y[0] = 0;
		n = 0;
		int got = sscanf(line, "%31s %63s %63s %lf", k, x, y, &n);
		found = got >= 2 && !strcmp(k, kind) && !strcmp(x, a) && (!b || !strcmp(y, b));
	}
	fclose(file);
	if (found && number) *number = n;
	return found;
}

static void put(const char *path, const void *data, size_t bytes) {
	char temporary[PATH + 8];
	snprintf(temporary, sizeof temporary, "%s.new", path);
	FILE *file = fopen(temporary, "w");
	if (!file) return;
	if (fwrite(data, 1, bytes, file) != bytes) abort();
	fclose(file);
	if (rename(temporary, path)) abort();
}

static int get(const char *path, void *data, size_t bytes) {
	FILE *file = fopen(path, "r");
	if (!file) return 0;
	size_t got = fread(data, 1, bytes, file);
	fclose(file);
	return got == bytes;
}

int cuInit(unsigned flags) { (void)flags; return getenv("PLAYER_FOLDER") ? 0 : 100; }
int cuDeviceGetCount(int *count) {
	const char *gpus = getenv("PLAYER_GPUS");
	*count = gpus ? atoi(gpus) : 0;
	return 0;
}
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(intptr_t)(device + 1); return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return 0; }
int cuCtxSetCurrent(void *context) { current = (int)(intptr_t)context - 1; return 0; }
int cuStreamCreate(Stream **stream, unsigned flags) { (void)flags; *stream = calloc(1, sizeof(Stream)); return 0; }
int cuStreamDestroy_v2(Stream *stream) { free(stream); return 0; }
int cuMemAlloc_v2(void **address, size_t bytes) { *address = malloc(bytes ? bytes : 1); return 0; }
int cuMemFree_v2(void *address) { free(address); return 0; }
int cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); return 0; }

const char *ncclGetErrorString(int result) { (void)result; return "played error"; }
int ncclGroupStart(void) { return 0; }
int ncclGroupEnd(void) { return 0; }
int ncclReduceScatter(void) { return 4; }
int ncclAllGather(void) { return 4; }
int ncclBroadcast(void) { return 4; }
int ncclCommAbort(Comm *comm) { free(comm); return 0; }

int ncclGetUniqueId(ncclUniqueId *id) {
	uint64_t random;
	if (getrandom(&random, sizeof random, 0) != sizeof random) return 2;
	memset(id, 0, sizeof *id);
	snprintf(id->bytes, sizeof id->bytes, "%016llx", (unsigned long long)random);
	return 0;
}

static void name_of(Comm *c, int rank, char *path) { snprintf(path, PATH, "%s-rank-%d", c->folder, rank); }

int ncclCommInitRankScalable(Comm **comm, int ranks, int rank, int ids, ncclUniqueId *id, struct config *config) {
	if (ids != 1 || config->magic != 0xcafebeef || config->blocking != 0 || ranks > MAX_RANKS) return 4;
	Comm *c = calloc(1, sizeof *c);
	char path[PATH], own[NAME] = {0};
	snprintf(own, sizeof own, "%s/%d", getenv("PLAYER_POD"), current);
	if (fault("hang", own, NULL, NULL)) pause();
	snprintf(c->folder, sizeof c->folder - 40, "%s/%s", where(), id->bytes);
	c->ranks = ranks;
	c->rank = rank;
	name_of(c, rank, path);
	put(path, own, sizeof own);
	*comm = c;
	return IN_PROGRESS;
}

int ncclCommGetAsyncError(Comm *c, int *result) {
	char path[PATH];
	for (; c->joined < c->ranks; c->joined++) {
		name_of(c, c->joined, path);
		if (!get(path, c->names[c->joined], NAME)) break;
	}
	*result = c->joined < c->ranks ? IN_PROGRESS : 0;
	return 0;
}

static void letter(Comm *c, int from, int to, int number, char *path) { snprintf(path, PATH, "%s-%d-%d-%d", c->folder, from, to, number); }

static void deliver(Comm *c, int to, int number, const char *data, size_t bytes) {
	char path[PATH];
	if (fault("broken", c->names[c->rank], c->names[to], NULL)) return;
	letter(c, c->rank, to, number, path);
	char *copy = malloc(bytes);
	memcpy(copy, data, bytes);
	if (fault("wrong", c->names[c->rank], c->names[to], NULL)) copy[bytes / 2] ^= 1;
	put(path, copy, bytes);
	free(copy);
}

// A letter tells no more than its beginning and end: buffers are equal but for those, and megabytes of files take time.
int ncclSend(const char *in, size_t count, int dtype, int peer, Comm *c, Stream *s) {
	(void)dtype;
	double delay = 0;
	fault("slow", c->names[c->rank], c->names[peer], &delay);
	int number = c->sent[peer]++;
	deliver(c, peer, number, in, count);
	char path[PATH];
	letter(c, peer, c->rank, -1 - number, path); // the receipt
	*s = (Stream){1, peer, -1 - number, NULL, NULL, 1, c, now() + 0.0005 + delay / 1e6};
	return 0;
}

int ncclRecv(char *out, size_t count, int dtype, int peer, Comm *c, Stream *s) {
	(void)dtype;
	*s = (Stream){2, peer, c->taken[peer]++, out, NULL, count, c, 0};
	return 0;
}

int ncclAllReduce(const char *in, char *out, size_t count, int dtype, int op, Comm *c, Stream *s) {
	if (dtype != 4 || op != 0) return 4;
	int number = 1000000 + c->sums++;
	for (int peer = 0; peer < c->ranks; peer++)
		if (peer != c->rank) deliver(c, peer, number, in, count * 8);
	*s = (Stream){3, 0, number, out, in, count * 8, c, 0};
	return 0;
}

static int finish(Stream *s) {
	Comm *c = s->comm;
	char path[PATH], receipt = 1;
	if (s->waits == 1) {
		if (now() < s->until) return 0;
		letter(c, s->peer, c->rank, s->number, path);
		return get(path, &receipt, 1);
	}
	if (s->waits == 2) {
		letter(c, s->peer, c->rank, s->number, path);
		if (!get(path, s->out, s->bytes)) return 0;
		unlink(path);
		letter(c, c->rank, s->peer, -1 - s->number, path);
		put(path, &receipt, 1);
		return 1;
	}
	for (int rank = 0; rank < c->ranks; rank++) {
		letter(c, rank, c->rank, s->number, path);
		if (rank != c->rank && access(path, R_OK)) return 0;
	}
	int64_t *sum = (int64_t *)s->out, *part = malloc(s->bytes);
	memcpy(sum, s->in, s->bytes);
	for (int rank = 0; rank < c->ranks; rank++) {
		if (rank == c->rank) continue;
		letter(c, rank, c->rank, s->number, path);
		if (!get(path, part, s->bytes)) abort();
		unlink(path);
		for (size_t i = 0; i < s->bytes / 8; i++) sum[i] += part[i];
	}
	free(part);
	return 1;
}

int cuStreamQuery(Stream *s) {
	if (s->waits && !finish(s)) return NOT_READY;
	s->waits = 0;
	return 0;
}
