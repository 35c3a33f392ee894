package measure

// other is the value of a label in place of all that are not known.
const other = "other"

// Known are the values that a label may have. The source names them, so that a metric has no more series than that, whatever the program meets.
type Known map[string]bool

// KnownOf returns a table of values.
func KnownOf(values ...string) Known {
	k := Known{}
	for _, value := range values {
		k[value] = true
	}
	return k
}

// Bound returns a value that is known as it is, and other for the rest.
func (k Known) Bound(value string) string {
	if k[value] {
		return value
	}
	return other
}
