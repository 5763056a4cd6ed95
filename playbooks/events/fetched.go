package events

import (
	"path/filepath"
	"strings"
)

// fetchedFiles are the files that the run has fetched from hosts.
type fetchedFiles struct {
	count int
	below string // the one file, or the folder that all are below
}

func (f *fetchedFiles) add(r Result) {
	if r.Fetched == "" || r.Check {
		return
	}
	if f.count++; f.count == 1 {
		f.below = r.Fetched
	}
	for f.below != r.Fetched && !strings.HasPrefix(r.Fetched, f.below+string(filepath.Separator)) && f.below != filepath.Dir(f.below) {
		f.below = filepath.Dir(f.below)
	}
}

// tell prints the place of the files in the recap.
func (f *fetchedFiles) tell(p *page) {
	switch f.count {
	case 0:
		return
	case 1:
		p.print(plain, "fetched: ", Line(f.below))
	default:
		p.print(plain, "fetched: ", count(f.count, "file"), " below ", Line(f.below))
	}
	p.newline()
}
