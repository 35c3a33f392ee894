package planning

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// explainPlace prints where the devices are, by which rule, and what their groups send over.
func explainPlace(w io.Writer, p *explain.PartExplanation) error {
	if _, err := fmt.Fprintln(w, p.Rule); err != nil {
		return err
	}
	rows := make([][]string, len(p.Seats))
	for i, s := range p.Seats {
		rows[i] = []string{
			strconv.Itoa(p.FirstReplica + s.Copy), strconv.Itoa(s.Data), strconv.Itoa(s.Stage), strings.Join(s.Nodes, ","),
			fmt.Sprintf("%d of %d free", s.Devices, s.Free), strconv.Itoa(s.Rivals),
		}
	}
	if err := term.Table(w, []string{"COPY", "DATA", "STAGE", "NODE", "TAKES", "PLACES WITH ROOM FOR IT"}, rows); err != nil {
		return err
	}
	if len(p.Links) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	rows = make([][]string, len(p.Links))
	for i, l := range p.Links {
		rows[i] = []string{l.Name, strconv.Itoa(l.Size), linkOf(l.Link), l.Carries}
	}
	return term.Table(w, []string{"GROUP", "RANKS", "SLOWEST LINK", "CARRIES"}, rows)
}
