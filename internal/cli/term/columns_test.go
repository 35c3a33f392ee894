package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

type thing struct {
	name, about, note string
	size              float64
}

var thingColumns = []Column[thing]{
	{Name: "NAME", Cell: func(t *thing) string { return t.name }},
	{Name: "ABOUT", Cell: func(t *thing) string { return t.about }, Drop: 2},
	{Name: "IN ALL", Cell: func(t *thing) string { return strings.Repeat("x", int(t.size)) }, Number: func(t *thing) float64 { return t.size }, Drop: 1},
	{Name: "NOTE", Cell: func(t *thing) string { return t.note }, Optional: true},
	{Name: "MORE", Cell: func(*thing) string { return "more" }, Wide: true},
}

// What matters least goes first where there is no room, and what is empty takes none.
func TestFitDropsColumns(t *testing.T) {
	things := []thing{{name: "a", about: strings.Repeat("b", 50), size: 20}}
	tests := map[string]struct {
		page Page
		note string
		want string // the header
	}{
		"room for all":     {Page{Width: 120}, "", "NAME ABOUT IN ALL"},
		"no room":          {Page{Width: 80}, "", "NAME ABOUT IN ALL"},
		"less":             {Page{Width: 70}, "", "NAME IN ALL"},
		"what fits stays":  {Page{Width: 62}, "no", "NAME IN ALL NOTE"},
		"notes":            {Page{Width: 80}, "something to say", "NAME IN ALL NOTE"},
		"wide has all":     {Page{Width: 60, Wide: true}, "", "NAME ABOUT IN ALL MORE"},
		"nobody says":      {Page{}, "", "NAME ABOUT IN ALL"},
		"too much is kept": {Page{Width: 60}, strings.Repeat("n", 70), "NAME NOTE"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			things[0].note = test.note
			Fit(&test.page, thingColumns, things)
			header, _, _ := strings.Cut(test.page.String(), "\n")
			if got := strings.Join(strings.Fields(header), " "); got != test.want {
				t.Errorf("columns %s, want %s; %d columns wide", got, test.want, utf8.RuneCountInString(header))
			}
		})
	}
}

// Narrow columns are in place of all where these have no room, and what is to stay whole does.
func TestFitNarrowly(t *testing.T) {
	long := strings.Repeat("n", 30) + "-" + strings.Repeat("m", 30)
	narrow := []Column[thing]{{Name: "ID", Cell: func(*thing) string { return "0123456789-0123456789" }, Whole: true}, thingColumns[0]}
	for name, want := range map[string]string{
		long: "ID                      NAME\n0123456789-0123456789   nnnnnnnnnnnnnnnnn…mmmmmmmmmmmmmmmmmm\n",
		"a":  "NAME   NOTE\na      b\n",
	} {
		p := Page{Width: 60}
		Fit(&p, []Column[thing]{thingColumns[0], thingColumns[3]}, []thing{{name: name, note: "b"}}, narrow...)
		if p.String() != want {
			t.Errorf("got\n%swant\n%s", p.String(), want)
		}
	}
}

func TestSortBy(t *testing.T) {
	things := []thing{{name: "b", size: 1}, {name: "a", size: 2}, {name: "c", size: 2}}
	names := func() string { return things[0].name + things[1].name + things[2].name }
	for key, want := range map[string]string{"name": "abc", "in-all": "acb"} {
		if err := SortBy(things, thingColumns, key); err != nil || names() != want {
			t.Errorf("by %s: %s, %v; want %s", key, names(), err, want)
		}
		if err := SortBy(things, thingColumns, "name"); err != nil {
			t.Fatal(err)
		}
	}
	if err := SortBy(things, thingColumns, "colour"); err == nil || !strings.Contains(err.Error(), "use one of name, about, in-all, note, more") {
		t.Errorf("error %v", err)
	}
}
