package plan

const (
	mib = 1 << 20
	gib = 1 << 30
)
