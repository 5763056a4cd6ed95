package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// Recording records a run, and reads the records of earlier ones.
type Recording struct {
	App       *app.App
	Flags     *flags.All
	Inventory *inventories.Reader
	Shared    *links.Sharing // takes a copy of the record, with workers
}

// Given returns the flags of a run, for the record, with the values found without flags: when the run is resumed or
// undone, the environment and the folders may name another inventory and other data.
func (f *Recording) Given() []record.Flag {
	all := f.Flags.Given()
	if paths, err := f.Inventory.Sources(); err == nil && len(f.Flags.Inventory.Paths) == 0 {
		all = append(all, flags.Recorded("inventory", paths))
	}
	if name := f.App.Getenv(extravars.HieraVariable); name != "" && f.Flags.Variables.Hiera == "" {
		all = append(all, flags.Recorded("hiera", []string{name}))
	}
	if f.Flags.Workers.URL != "" && !f.Flags.Changed(flags.WorkersFlag) {
		all = append(all, flags.Recorded(flags.WorkersFlag, []string{f.Flags.Workers.URL}))
	}
	return all
}

// Reporters returns the reporter that records a run. It returns none with --no-record, or if no folder can hold the
// record.
func (f *Recording) Reporters(r *playbooks.Runner, h record.Header) []events.Reporter {
	if f.Flags.Record.None {
		return nil
	}
	store, err := f.App.Records()
	if err != nil {
		f.App.Warn("this run is not recorded: " + err.Error())
		return nil
	}
	h = ofRunner(r, h)
	h.Started, h.Version, h.PID = time.Now(), f.App.Version, os.Getpid()
	who, _, _ := strings.Cut(r.Options.Holder, " ") // USER@HOST (pid PID)
	h.User, h.Host, _ = strings.Cut(who, "@")
	own := h.Flags // override the flags of the command line
	h.Flags = append(slices.Clone(own), slices.DeleteFunc(f.Given(), func(given record.Flag) bool {
		return slices.ContainsFunc(own, func(one record.Flag) bool { return one.Name == given.Name })
	})...)
	r.Fetched = store.Fetched(h.Run)
	recorder := store.Recorder(h, f.App.Warn)
	if len(h.Manifests) > 0 {
		recorder.WithInputs(f.App.Read.Hashes)
	}
	if f.Flags.Workers.URL != "" {
		f.Shared.What = h.What
		recorder.CopyTo(f.Shared)
	}
	return []events.Reporter{recorder}
}

// ofRunner adds to a header which run it is, and where it was begun.
func ofRunner(r *playbooks.Runner, h record.Header) record.Header {
	h.Run, h.Check = r.Options.Run, r.Options.Check
	h.Directory, _ = os.Getwd() // "" if it has been removed: then nothing relative was read
	return h
}

// took returns a function that returns how long the last run like this one took for so many hosts.
func (f *Recording) took(r *playbooks.Runner, h record.Header) func(hosts int) time.Duration {
	store, err := f.App.Records()
	if err != nil || h.Command == "" {
		return nil
	}
	h = ofRunner(r, h)
	h.Flags = f.Given()
	return func(hosts int) time.Duration { return store.Took(h, hosts) }
}

// told returns the reported results of earlier runs that are recorded on this machine; nil without records.
func (f *Recording) told() *record.Told {
	store, err := f.App.Records()
	if err != nil {
		return nil
	}
	return store.Told()
}

// Header returns the record's description of a run of manifests. Callers make it before the run begins, so that it has
// the hashes of the files that were read.
func Header(command string, paths []string, plays []*manifest.Play) record.Header {
	h := record.Header{Command: command}
	var shown []string
	seen := map[string]bool{}
	for _, path := range paths {
		name := source.ShownName(path)
		h.Manifests = append(h.Manifests, record.Manifest{Path: name, SHA256: HashOf(path), Withheld: name != path})
		shown, seen[path] = append(shown, name), true
	}
	for _, p := range plays {
		files := []string{p.File}
		if p.Rollout != nil { // the rollout may be in its own file
			files = append(files, p.Rollout.At.File)
		}
		for _, file := range files {
			if sum := HashOf(file); sum != "" && !seen[file] {
				seen[file] = true
				h.Files = append(h.Files, record.Manifest{Path: file, SHA256: sum})
			}
		}
	}
	h.What = strings.Join(shown, " ")
	return h
}

// HashOf is the SHA-256 of a regular file, in hex; "" of anything else.
func HashOf(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// AdHocHeader returns the record's description of an ad-hoc call.
func AdHocHeader(pattern string, play *manifest.Play, output bool) record.Header {
	h := record.Header{Command: "ad-hoc", AdHoc: output}
	h.What = fmt.Sprintf("%s %s", pattern, strings.Join(play.LiteralRefs(), " "))
	return h
}

// Withheld names the flags with values that are not recorded.
func Withheld(flags []record.Flag) []string {
	var names []string
	for _, f := range flags {
		if f.Withheld {
			names = append(names, "--"+f.Name)
		}
	}
	return names
}
