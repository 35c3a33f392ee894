package intel

import (
	"regexp"
	"strconv"
	"strings"
)

// xeLanes are the lanes of Xe Link between two cards, by xpu-smi's numbers of them, the smaller first.
type xeLanes map[[2]int]int

var (
	xpuTile = regexp.MustCompile(`\bGPU (\d{1,4})/(\d{1,2})\b`)
	xpuXe   = regexp.MustCompile(`^XL(\d{1,3})$`)
)

// parseXeLanes reads the matrix of `xpu-smi topology -m`: a row and a column for each tile (`GPU 1/0`), and in each cell
// the relation of the two. XL16 are 16 lanes between the tiles. XL* is a way through the other tile of a card and counts
// for nothing, nor do MDF (the tiles of one card), NODE and SYS (PCIe). Cells are divided by bars, or only by space.
func parseXeLanes(text string) xeLanes {
	var columns []int // the card of each column
	rows := xeLanes{}
	for line := range strings.Lines(text) {
		tiles := xpuTile.FindAllStringSubmatchIndex(line, -1)
		if len(tiles) == 0 {
			continue
		}
		if columns == nil {
			columns = xeCards(line, tiles)
			continue
		}
		row := xeCards(line, tiles[:1])[0]
		cells := strings.FieldsFunc(line[tiles[0][1]:], func(r rune) bool { return r == '|' || r == ' ' || r == '\t' || r == '\r' || r == '\n' })
		if len(cells) < len(columns) {
			continue
		}
		for i, column := range columns {
			if match := xpuXe.FindStringSubmatch(cells[i]); match != nil && column != row {
				lanes, _ := strconv.Atoi(match[1])
				rows[[2]int{row, column}] += lanes
			}
		}
	}
	return rows.narrowest()
}

// narrowest takes the direction with fewer lanes where the two directions of a pair disagree, and drops what only one
// direction has.
func (l xeLanes) narrowest() xeLanes {
	pairs := xeLanes{}
	for pair, lanes := range l {
		if lanes = min(lanes, l[[2]int{pair[1], pair[0]}]); pair[0] < pair[1] && lanes > 0 {
			pairs[pair] = lanes
		}
	}
	return pairs
}

// xeCards are the numbers of the cards of the tiles that were found in the line.
func xeCards(line string, tiles [][]int) []int {
	cards := make([]int, 0, len(tiles))
	for _, at := range tiles {
		card, _ := strconv.Atoi(line[at[2]:at[3]])
		cards = append(cards, card)
	}
	return cards
}
