package main

import (
	"os"

	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// reporter prints a run of plays on standard output. options hold what sort of run
// it is; the flags and the terminal say the rest.
func (a *app) reporter(options events.TextOptions, plays ...*manifest.Play) events.Reporter {
	if a.flags.output == "json" {
		return events.NewJSON(a.out)
	}
	if a.flags.output == "dsc-json" {
		r := events.NewDSC(a.out)
		for _, p := range plays {
			if p.Configuration != nil {
				r.Add(p.Name, p.Configuration)
			}
		}
		return r
	}
	options.Trust = a.trustCall
	options.Verbose, options.Diff, options.Timing = a.flags.verbose, a.flags.diff, a.flags.timing
	terminal := false
	if f, ok := fileOf(a.out).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		terminal = true
		options.Width, _, _ = term.GetSize(int(f.Fd())) // 0 if it does not say
	}
	options.Color = a.color(terminal)
	return events.NewText(a.out, options)
}

func (a *app) color(terminal bool) bool {
	if a.flags.color == "auto" {
		return events.WantColor(terminal, a.getenv)
	}
	return a.flags.color == "always"
}
