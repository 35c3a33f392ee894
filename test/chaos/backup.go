package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// backedUp kills both, and keeps what etcd has.
func backedUp(ctx context.Context, w *world) error {
	w.plane.HaltAPIServer()
	w.plane.HaltEtcd()
	w.backups++
	w.backup = filepath.Join(w.Dir, fmt.Sprintf("backup-%d", w.backups))
	return errors.Join(w.plane.SaveEtcd(w.backup), w.plane.ResumeEtcd(ctx), w.plane.ResumeAPIServer(ctx))
}

// restored puts the last backup in the place of what etcd has, as docs/internals/ledger.md says: the operator is stopped before and started after.
func restored(ctx context.Context, w *world) error {
	if w.backup == "" {
		if err := backedUp(ctx, w); err != nil {
			return err
		}
		w.between(ctx, 2*time.Second, 5*time.Second)
	}
	w.load.turn(false)
	if err := w.seats[0].stop(); err != nil {
		return err
	}
	w.plane.HaltAPIServer()
	w.plane.HaltEtcd()
	err := errors.Join(w.plane.RestoreEtcd(w.backup), w.plane.ResumeEtcd(ctx), w.plane.ResumeAPIServer(ctx), w.seats[0].start(false))
	w.load.forget()
	w.rested = map[types.UID]resting{}
	w.load.turn(true)
	w.between(ctx, time.Second, 4*time.Second)
	return err
}
