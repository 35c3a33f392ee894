package shape

// Until returns the problem with an end: when the channel is closed, searches stop where they are. What is made of the problem by With
// and On ends with it.
func (t *Problem) Until(done <-chan struct{}) *Problem {
	other := *t
	other.request.done = done
	return &other
}

// Stopped says whether the problem has come to its end. What a search that was stopped returns means nothing: loops leave out the rest,
// and whoever began the search says that it was stopped.
func (t *Problem) Stopped() bool {
	select {
	case <-t.request.done:
		return true
	default:
		return false
	}
}
