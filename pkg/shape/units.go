package shape

const (
	MiB = 1 << 20
	gib = 1 << 30
)
