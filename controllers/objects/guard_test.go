package objects

import (
	"context"
	"errors"
	"testing"
)

func TestAPanicIsAnErrorOfOnePlacement(t *testing.T) {
	var refused *Refused
	if err := Guarded(context.Background(), func() error { panic("no") }); !errors.As(err, &refused) || refused.Reason != ReasonPanic {
		t.Errorf("got %v", err)
	}
	other := errors.New("other")
	if err := Guarded(context.Background(), func() error { return other }); !errors.Is(err, other) {
		t.Errorf("got %v", err)
	}
}
