package accelerator

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
	"sync"
)

//go:embed products.csv
var productsCSV string

//go:embed aliases.csv
var aliasesCSV string

//go:embed reported.csv
var reportedCSV string

//go:embed compute_units.csv
var computeUnitsCSV string

// catalogue is the data with its indexes. It never changes once it is loaded.
type catalogue struct {
	rows   []*row
	byID   map[pciID][]entry
	byName map[string][]entry
}

// load parses the embedded data once. It can only fail where the data is wrong, which a test excludes.
var load = sync.OnceValues(func() (*catalogue, error) { return parse(productsCSV, aliasesCSV, reportedCSV, computeUnitsCSV) })

// tables are the files in the order in which they are read, since all others add to rows of the first.
var tables = []struct {
	name string
	add  func(*catalogue, record) error
}{
	{"products.csv", (*catalogue).addProduct},
	{"aliases.csv", (*catalogue).addAlias},
	{"reported.csv", (*catalogue).addReported},
	{"compute_units.csv", (*catalogue).addComputeUnits},
}

// parse reads the texts of the first so many tables.
func parse(texts ...string) (*catalogue, error) {
	c := &catalogue{byID: map[pciID][]entry{}, byName: map[string][]entry{}}
	for i, text := range texts {
		if err := eachRecord(text, func(column record) error { return tables[i].add(c, column) }); err != nil {
			return nil, fmt.Errorf("%s: %w", tables[i].name, err)
		}
	}
	return c, nil
}

// record is a row of a table, as a function from column name to value.
type record func(column string) string

// product returns the row of products.csv that the record adds to.
func (c *catalogue) product(column record) (*row, error) {
	rows := c.named(column("product"))
	if len(rows) == 0 {
		return nil, fmt.Errorf("product %q: no row of products.csv has this name", column("product"))
	}
	return rows[0].row, nil
}

// eachRecord calls add with each record after the header.
func eachRecord(text string, add func(record) error) error {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("no header: the first line must name the columns")
	}
	index := map[string]int{}
	for i, column := range records[0] {
		index[column] = i
	}
	for line, record := range records[1:] {
		var unknown string
		err := add(func(column string) string {
			i, ok := index[column]
			if !ok {
				unknown = column
				return ""
			}
			return record[i]
		})
		if unknown != "" {
			return fmt.Errorf("no column %q: add it to the header", unknown)
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", line+1, err)
		}
	}
	return nil
}

func (c *catalogue) addProduct(column record) error {
	r, err := parseProduct(column)
	if err != nil {
		return err
	}
	n, ok := normalize(r.Name)
	if !ok {
		return fmt.Errorf("product_name_as_reported %q: give a name of 1 to %d bytes", r.Name, maxName)
	}
	if len(c.byName[string(n.bytes())]) > 0 {
		return fmt.Errorf("product_name_as_reported %q: the name is taken: two rows need two names", r.Name)
	}
	c.rows = append(c.rows, r)
	c.byName[string(n.bytes())] = []entry{{row: r}}
	if id, ok := parseID(column("pci_vendor_device")); ok {
		r.vendorID = id.vendor
		if id.device != anyDevice {
			c.byID[id] = append(c.byID[id], entry{row: r})
		}
	}
	return nil
}

func (c *catalogue) addAlias(column record) error {
	r, err := c.product(column)
	if err != nil {
		return err
	}
	p := numbers{column: column}
	e := entry{
		row: r, revision: column("revision"), subsystem: column("subsystem_device"),
		memoryMiB: p.scaled("reported_memory_gib", 1024),
	}
	if p.err != nil {
		return p.err
	}
	if id, ok := parseID(column("pci_vendor_device")); ok {
		c.byID[id] = constrain(c.byID[id], e)
	}
	if reported := column("reported_name"); reported != "" {
		n, ok := normalize(reported)
		if !ok {
			return fmt.Errorf("reported_name %q: give a name of 1 to %d bytes", reported, maxName)
		}
		c.byName[string(n.bytes())] = append(c.byName[string(n.bytes())], e)
	}
	return nil
}

func (c *catalogue) addReported(column record) error {
	r, err := c.product(column)
	if err != nil {
		return err
	}
	p := numbers{column: column}
	r.ReportedMiB = p.scaled("reported_mib", 1)
	if p.err == nil && (r.ReportedMiB == 0 || len(r.sizes) != 1) {
		p.err = fmt.Errorf("product %q: write what a product of one size reports, in MiB", r.Name)
	}
	return p.err
}

func (c *catalogue) addComputeUnits(column record) error {
	r, err := c.product(column)
	if err != nil {
		return err
	}
	p := numbers{column: column}
	units := p.scaled("compute_units", 1)
	switch {
	case p.err != nil:
		return p.err
	case units < 1 || column("source") == "":
		return fmt.Errorf("product %q: give a number of compute units and its source", r.Name)
	case r.ComputeUnits != 0:
		return fmt.Errorf("product %q: is there twice", r.Name)
	}
	r.ComputeUnits = int32(units)
	return nil
}

// constrain replaces the row's unconstrained entry, or adds the entry where there is none.
func constrain(entries []entry, e entry) []entry {
	for i := range entries {
		if entries[i].row == e.row && entries[i].revision == "" && entries[i].subsystem == "" {
			entries[i] = e
			return entries
		}
	}
	return append(entries, e)
}

// anyDevice stands for every device of a vendor whose device ids are not published.
const anyDevice = "*"

// parseID reads vendor:device; false for text in brackets, which marks a product that is not on PCI.
func parseID(text string) (pciID, bool) {
	vendor, device, ok := strings.Cut(text, ":")
	return pciID{vendor, device}, ok
}
