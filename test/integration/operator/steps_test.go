package operator

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// errCrashed is what a client says after its process "ended".
var errCrashed = errors.New("the process has ended")

// requests counts what a client sends and calls back before and after each; a callback that returns an error ends the
// client: nothing it is asked for afterwards reaches the server. The count starts at 1.
type requests struct {
	before, after func(n int) error
	count         int
	dead          bool
}

// do sends one request between the callbacks.
func (s *requests) do(send func() error) error {
	if s.dead {
		return errCrashed
	}
	s.count++
	n := s.count
	if s.before != nil && s.before(n) != nil {
		s.dead = true
		return errCrashed
	}
	err := send()
	if s.after != nil && s.after(n) != nil {
		s.dead = true
		return errCrashed
	}
	return err
}

// wrap puts the counting before a client.
func (s *requests) wrap(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			return s.do(func() error { return c.Get(ctx, key, o, options...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return s.do(func() error { return c.List(ctx, list, options...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return s.do(func() error { return c.Create(ctx, o, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return s.do(func() error { return c.Delete(ctx, o, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			return s.do(func() error { return c.Update(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return s.do(func() error { return c.Patch(ctx, o, patch, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return s.do(func() error { return c.Apply(ctx, o, options...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return s.do(func() error { return c.SubResource(sub).Apply(ctx, o, options...) })
		},
	})
}
