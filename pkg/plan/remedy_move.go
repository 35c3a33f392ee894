package plan

func (t *task) moves([]way) []remedy { return nil }
