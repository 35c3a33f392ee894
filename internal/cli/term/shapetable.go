package term

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// ShapeRows are the rows about consecutive copies of one shape.
type ShapeRows struct {
	First, Copies int32
	Rows          [][]string
}

// ShapeTable writes rows of every shape, and in front of them which copies they are about where there are several shapes.
func (p *Page) ShapeTable(header []string, shapes []ShapeRows) {
	if len(shapes) == 1 {
		p.Table(header, shapes[0].Rows)
		return
	}
	var rows [][]string
	for _, shape := range shapes {
		for _, row := range shape.Rows {
			rows = append(rows, append([]string{shape.text()}, row...))
		}
	}
	p.Table(append([]string{"COPIES"}, header...), rows)
}

// text is the numbers of the copies: `2`, or `0-1`.
func (s *ShapeRows) text() string {
	if s.Copies == 1 {
		return strconv.Itoa(int(s.First))
	}
	return fmt.Sprintf("%d-%d", s.First, s.First+s.Copies-1)
}

// WorldsText counts ranks and copies: `4 ranks, 1 copy`, or where copies differ `2 copies of 2 ranks and 1 copy of 4 ranks`.
func WorldsText(spec *v1alpha1.DeviceMeshSpec) string {
	if len(spec.OtherShapes) > 0 {
		return mesh.CopiesText(spec)
	}
	return words.Counted(int(spec.WorldSize), "rank") + ", " + words.Counted(int(spec.Replicas), "copy")
}

// RanksText prints groups as [0 1] [2 3], shortened where they are many.
func RanksText[R ~[]int32](groups []R, wide bool) string {
	var parts []string
	left := shownRanks
	for i, group := range groups {
		switch {
		case wide || len(group) <= left:
			parts = append(parts, fmt.Sprint(group))
		case i == 0:
			parts = append(parts, strings.TrimSuffix(fmt.Sprint(group[:left]), "]")+" …]")
		default:
			return strings.Join(append(parts, "…"), " ")
		}
		left -= len(group)
	}
	return strings.Join(parts, " ")
}

// shownRanks is how many ranks of a row a table shows, unless it is wide.
const shownRanks = 16
