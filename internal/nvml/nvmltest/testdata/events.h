/* Events are lines of libnvidia-ml.events: index, type, data, GPU instance and compute instance. */

/* What is registered, and up to where the file of events has been read: who was not there does not hear of it. */
static struct { u64 types[GPUS]; long read; } events;

int nvmlEventSetCreate(void **set)
{
	char path[PATH_MAX];
	struct stat file;
	beside(path, "events");
	events.read = stat(path, &file) ? 0 : (long)file.st_size;
	*set = &events;
	return OK;
}

int nvmlDeviceGetSupportedEventTypes(gpu *g, u64 *types) { CHECK(g); *types = 0x1f; return OK; }

int nvmlDeviceRegisterEvents(gpu *g, u64 types, void *set)
{
	CHECK(g);
	if (set != &events || g->isMIG)
		return INVALID;
	events.types[g->index] = types;
	return OK;
}

typedef struct { gpu *device; u64 type, data; u32 gi, ci; } event;

/* The next event of a registered GPU and type. */
static int next(event *e)
{
	char path[PATH_MAX], line[128];
	u32 index;
	int found = 0;
	beside(path, "events");
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	fseek(file, events.read, SEEK_SET);
	while (!found && fgets(line, sizeof(line), file) && strchr(line, '\n')) {
		events.read = ftell(file);
		found = sscanf(line, "%u %llu %llu %u %u", &index, &e->type, &e->data, &e->gi, &e->ci) == 5 && index < GPUS && events.types[index] & e->type;
	}
	fclose(file);
	if (found)
		e->device = &gpus[index];
	return found;
}

/* NVIDIA's library sleeps until there is an event. This one looks at its files, seldom enough to take next to no time of a processor. */
enum { LOOK = 50 };

int nvmlEventSetWait_v2(void *set, event *e, u32 milliseconds)
{
	(void)set;
	for (u32 waited = 0;; waited += LOOK) {
		int bad = fault("wait");
		for (u32 i = 0; !bad && i < GPUS; i++)
			bad = events.types[i] && faultOf(&gpus[i]) == LOST ? LOST : OK;
		if (bad)
			return bad;
		if (next(e))
			return OK;
		if (waited >= milliseconds)
			return TIMEOUT;
		usleep(LOOK * 1000);
	}
}
