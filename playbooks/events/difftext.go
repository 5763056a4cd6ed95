package events

import (
	"fmt"
	"strings"
)

// maxDiffLines bounds the printed lines of the diffs of one resource, unless -v requests all.
const maxDiffLines = 200

// diff shows the diffs of a resource, or how many lines they change.
func (l resultLines) diff(p *page, r Result) {
	switch {
	case !l.options.Diff || r.Diff == "":
		return
	case l.options.DiffStat:
		p.block(indent, diffStat(r.Diff), always(plain))
		return
	}
	shown, rest := r.Diff, 0
	if l.options.Verbose == 0 {
		shown, rest = firstLines(r.Diff, maxDiffLines)
	}
	p.diff(indent, shown)
	if rest == 0 {
		return
	}
	where := "-v shows all"
	if l.options.Recorded {
		where = "all: ccm-push runs show " + l.run.Run + " --diff -v"
		if l.folding == nil {
			where += " --host " + r.Host
		}
	}
	p.block(indent, fmt.Sprintf("… %d more lines (%s)", rest, where), always(cyan))
}

// firstLines are the first n lines of a text, and how many others there are.
func firstLines(text string, n int) (first string, rest int) {
	end := 0
	for line := range strings.Lines(text) {
		if n--; n >= 0 {
			end += len(line)
		} else {
			rest++
		}
	}
	return text[:end], rest
}

// diffStat returns the number of added and removed lines for each file of unified diffs.
func diffStat(diff string) string {
	var all []string
	var name string
	var added, removed int
	end := func() {
		if name != "" {
			all = append(all, fmt.Sprintf("%s: +%d -%d", name, added, removed))
		}
		name, added, removed = "", 0, 0
	}
	for line := range diffLines(diff) {
		switch line.kind {
		case lineAdded:
			added++
		case lineRemoved:
			removed++
		case lineOldName:
			end()
		case lineNewName:
			name = strings.TrimPrefix(line.text, "+++ ")
		case lineOther:
			end()
			all = append(all, line.text)
		}
	}
	end()
	return strings.Join(all, "\n")
}
