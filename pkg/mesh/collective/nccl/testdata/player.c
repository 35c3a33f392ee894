// A library that plays CUDA's driver and NCCL for ranks of one process: memory is the host's, and a call is done when all
// ranks have made it. It has the functions that package nccl binds, with the prototypes of cuda.h and nccl.h.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 16, MAX_WORLDS = 256, MAX_CALLS = 4096, NOT_READY = 600, IN_PROGRESS = 7 };

typedef struct { char bytes[128]; } ncclUniqueId;

typedef struct {
	int ranks, joined, alive;
	char *input[MAX_CALLS][MAX_RANKS];           // of a collective, copied when the rank makes it
	char *mail[MAX_RANKS][MAX_RANKS][MAX_CALLS]; // from, to
	int sent[MAX_RANKS][MAX_RANKS], taken[MAX_RANKS][MAX_RANKS];
} World;

typedef struct { World *world; int rank, calls; } Comm;

typedef struct { int kind, dtype, op, peer, call; char *out; size_t count; Comm *comm; int done; } Pending;
typedef struct { Pending pending[64]; int count; } Stream;

static World *worlds[MAX_WORLDS];
static int made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = MAX_RANKS; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < MAX_RANKS ? 0 : 101; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(intptr_t)(device + 1); return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxSetCurrent(void *context) { return 0; }
int cuStreamCreate(Stream **stream, unsigned flags) { *stream = calloc(1, sizeof(Stream)); return 0; }
int cuStreamDestroy_v2(Stream *stream) { free(stream); return 0; }
int cuMemAlloc_v2(void **address, size_t bytes) { *address = malloc(bytes ? bytes : 1); return 0; }
int cuMemFree_v2(void *address) { free(address); return 0; }
int cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); return 0; }

const char *ncclGetErrorString(int result) { return "played error"; }
int ncclGroupStart(void) { return 0; }
int ncclGroupEnd(void) { return 0; }

int ncclGetUniqueId(ncclUniqueId *id) {
	pthread_mutex_lock(&lock);
	memset(id, 0, sizeof *id);
	worlds[made] = calloc(1, sizeof(World));
	id->bytes[0] = (char)made++;
	pthread_mutex_unlock(&lock);
	return 0;
}

struct config { size_t size; unsigned magic, version; int blocking; };

int ncclCommInitRankScalable(Comm **comm, int ranks, int rank, int ids, ncclUniqueId *id, struct config *config) {
	if (ids != 1 || config->magic != 0xcafebeef || config->blocking != 0) return 4;
	pthread_mutex_lock(&lock);
	World *world = worlds[(unsigned char)id->bytes[0]];
	world->ranks = ranks;
	world->joined++;
	*comm = calloc(1, sizeof(Comm));
	(*comm)->world = world;
	(*comm)->rank = rank;
	pthread_mutex_unlock(&lock);
	return IN_PROGRESS;
}

int ncclCommGetAsyncError(Comm *comm, int *result) {
	pthread_mutex_lock(&lock);
	*result = comm->world->joined < comm->world->ranks ? IN_PROGRESS : 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

int ncclCommAbort(Comm *comm) { free(comm); return 0; }

static size_t size_of(int dtype) { return dtype == 1 ? 1 : dtype == 4 ? 8 : 4; }

#define COMBINE(type) { \
	type *a = (type *)to, *b = (type *)from; \
	for (size_t i = 0; i < count; i++) \
		a[i] = op == 0 ? a[i] + b[i] : op == 1 ? a[i] * b[i] : op == 2 ? (a[i] > b[i] ? a[i] : b[i]) : (a[i] < b[i] ? a[i] : b[i]); \
}

static void combine(char *to, char *from, size_t count, int dtype, int op) {
	switch (dtype) {
	case 1: COMBINE(uint8_t) break;
	case 2: COMBINE(int32_t) break;
	case 4: COMBINE(int64_t) break;
	case 7: COMBINE(float) break;
	}
}

enum { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, RECEIVE };

static int post(Comm *comm, Stream *stream, int kind, const void *in, size_t inBytes, void *out, size_t count, int dtype, int op, int peer) {
	pthread_mutex_lock(&lock);
	Pending p = {kind, dtype, op, peer, comm->calls, out, count, comm, 0};
	if (kind != RECEIVE) {
		char *copy = malloc(inBytes ? inBytes : 1);
		memcpy(copy, in, inBytes);
		comm->world->input[comm->calls++ % MAX_CALLS][comm->rank] = copy;
	}
	stream->pending[stream->count++] = p;
	pthread_mutex_unlock(&lock);
	return 0;
}

int ncclAllReduce(void *in, void *out, size_t count, int dtype, int op, Comm *comm, Stream *stream) {
	return post(comm, stream, ALL_REDUCE, in, count * size_of(dtype), out, count, dtype, op, 0);
}
int ncclReduceScatter(void *in, void *out, size_t count, int dtype, int op, Comm *comm, Stream *stream) {
	return post(comm, stream, REDUCE_SCATTER, in, count * size_of(dtype) * comm->world->ranks, out, count, dtype, op, 0);
}
int ncclAllGather(void *in, void *out, size_t count, int dtype, Comm *comm, Stream *stream) {
	return post(comm, stream, ALL_GATHER, in, count * size_of(dtype), out, count, dtype, 0, 0);
}
int ncclBroadcast(void *in, void *out, size_t count, int dtype, int root, Comm *comm, Stream *stream) {
	return post(comm, stream, BROADCAST, in, count * size_of(dtype), out, count, dtype, 0, root);
}
int ncclSend(void *in, size_t count, int dtype, int peer, Comm *comm, Stream *stream) {
	pthread_mutex_lock(&lock);
	World *w = comm->world;
	char *copy = malloc(count);
	memcpy(copy, in, count);
	w->mail[comm->rank][peer][w->sent[comm->rank][peer]++ % MAX_CALLS] = copy;
	pthread_mutex_unlock(&lock);
	return 0;
}
int ncclRecv(void *out, size_t count, int dtype, int peer, Comm *comm, Stream *stream) {
	return post(comm, stream, RECEIVE, 0, 0, out, count, dtype, 0, peer);
}

static int finish(Pending *p) {
	World *w = p->comm->world;
	int me = p->comm->rank;
	size_t bytes = p->count * size_of(p->dtype);
	if (p->kind == RECEIVE) {
		if (w->taken[p->peer][me] == w->sent[p->peer][me]) return 0;
		memcpy(p->out, w->mail[p->peer][me][w->taken[p->peer][me]++ % MAX_CALLS], bytes);
		return 1;
	}
	char **input = w->input[p->call % MAX_CALLS];
	for (int r = 0; r < w->ranks; r++)
		if (!input[r]) return 0;
	size_t skip = p->kind == REDUCE_SCATTER ? me * bytes : 0;
	switch (p->kind) {
	case ALL_GATHER:
		for (int r = 0; r < w->ranks; r++) memcpy(p->out + r * bytes, input[r], bytes);
		break;
	case BROADCAST:
		memcpy(p->out, input[p->peer], bytes);
		break;
	default:
		memcpy(p->out, input[0] + skip, bytes);
		for (int r = 1; r < w->ranks; r++) combine(p->out, input[r] + skip, p->count, p->dtype, p->op);
	}
	return 1;
}

int cuStreamQuery(Stream *stream) {
	pthread_mutex_lock(&lock);
	int waiting = 0;
	for (int i = 0; i < stream->count; i++) {
		Pending *p = &stream->pending[i];
		if (!p->done) p->done = finish(p);
		waiting += !p->done;
	}
	if (!waiting) stream->count = 0;
	pthread_mutex_unlock(&lock);
	return waiting ? NOT_READY : 0;
}
