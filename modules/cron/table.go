package cron

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// markerPrefix begins the line above an entry of ours.
const markerPrefix = "#ccm-push: "

// An outcome is a crontab with the desired entry, and the entry that it replaces.
type outcome struct {
	text  string
	found int              // markers of that name
	was   *job             // first entry, if any
	other []modules.Change // changes of the file itself
}

// edited puts the job in place of the first marker of the name, or at the end of the crontab; nil removes it. It
// removes other entries with that marker. A correct entry keeps its blanks. To cron, \r is a part of a command, so the
// entries of a file with \r\n have different commands.
func edited(crontab, name string, want *job) outcome {
	var o outcome
	t := edit.ParseLineFeed(crontab)
	t.Keep(func(rest []edit.Line) (int, []string) {
		marker := rest[0].Text
		if strings.TrimSuffix(marker, "\r") != markerPrefix+name {
			return 0, nil
		}
		lines, line := 1, ""
		var is *job
		if len(rest) > 1 {
			if j, ok := parseJob(rest[1].Text); ok {
				lines, line, is = 2, rest[1].Text, &j
			}
		}
		if o.found++; o.found == 1 {
			o.was = is
		}
		switch {
		case want == nil || o.found > 1:
			return lines, nil
		case is == nil || *is != *want:
			line = want.String()
		}
		return lines, []string{marker, line}
	}, func() []string {
		if o.found > 0 || want == nil {
			return nil
		}
		return []string{markerPrefix + name, want.String()}
	})
	o.text = t.String()
	o.other = edit.MarkRemoved(crontab, o.text)
	return o
}
