package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// recordFlags say whether a run is recorded.
type recordFlags struct {
	none bool

	set *pflag.FlagSet // all shared flags: those that are given are recorded
}

func (f *recordFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.BoolVar(&f.none, "no-record", false, "do not record this run (see ccm-push runs --help)")
}

// withheldFlags have values that may be secrets. Of -e, @FILE is none.
var withheldFlags = []string{"extra-vars", "fact"}

// given are the shared flags of the command line, for the record.
func (f *recordFlags) given() []record.Flag {
	var flags []record.Flag
	f.set.VisitAll(func(flag *pflag.Flag) { // Visit has only those that this very set has read
		if !flag.Changed {
			return
		}
		words := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			words = list.GetSlice()
		}
		flags = append(flags, recordedFlag(flag.Name, words))
	})
	return flags
}

// recordedFlag is a flag without those of its values that may be secrets.
func recordedFlag(name string, words []string) record.Flag {
	kept := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return isWithheld(name, word) })
	return record.Flag{Name: name, Words: kept, Withheld: len(kept) < len(words)}
}

// isWithheld reports whether a value of a flag may be a secret, or hold one.
func isWithheld(name, word string) bool {
	switch {
	case name == natsFlag, name == workersFlag: // several URLs, each perhaps with a password
		return strings.Contains(word, "@")
	case slices.Contains(withheldFlags, name) && (!strings.HasPrefix(word, "@") || word == extravars.Stdin):
		return true
	}
	return source.ShownName(word) != word // a URL may hold a password
}

// given are the flags of a run, for the record, with what was found without them: where the run
// is resumed or undone, the environment and the folders may name another inventory and other data.
func (f *fleet) given() []record.Flag {
	flags := f.record.given()
	if paths, err := f.inventory.sources(); err == nil && len(f.inventory.paths) == 0 {
		flags = append(flags, recordedFlag("inventory", paths))
	}
	if name := f.app.getenv(extravars.HieraVariable); name != "" && f.variables.hiera == "" {
		flags = append(flags, recordedFlag("hiera", []string{name}))
	}
	if f.workers.url != "" && !f.workers.set.Changed(workersFlag) {
		flags = append(flags, recordedFlag(workersFlag, []string{f.workers.url}))
	}
	return flags
}

// records is the store of recorded runs. Records that cannot be read are warned of, each once.
func (a *app) records() (record.Store, error) {
	store, err := record.In(a.getenv)
	store.Warn = a.warnOnce
	return store, err
}

// recorder is the reporter that records a run; none with --no-record, or where there is no
// place for it.
func (f *fleet) recorder(r *playbooks.Runner, h record.Header) []events.Reporter {
	if f.record.none {
		return nil
	}
	store, err := f.app.records()
	if err != nil {
		f.app.warn("this run is not recorded: " + err.Error())
		return nil
	}
	h = ofRunner(r, h)
	h.Started, h.Version, h.PID = time.Now(), version, os.Getpid()
	who, _, _ := strings.Cut(r.Options.Holder, " ") // USER@HOST (pid PID)
	h.User, h.Host, _ = strings.Cut(who, "@")
	own := h.Flags // override the flags of the command line
	h.Flags = append(slices.Clone(own), slices.DeleteFunc(f.given(), func(given record.Flag) bool {
		return slices.ContainsFunc(own, func(one record.Flag) bool { return one.Name == given.Name })
	})...)
	r.Fetched = store.Fetched(h.Run)
	recorder := store.Recorder(h, f.app.warn)
	if len(h.Manifests) > 0 {
		recorder.WithInputs(f.app.read.Hashes)
	}
	if f.workers.url != "" {
		f.workers.shared.what = h.What
		recorder.CopyTo(&f.workers.shared)
	}
	return []events.Reporter{recorder}
}

// ofRunner adds to a header which run it is, and where it was begun.
func ofRunner(r *playbooks.Runner, h record.Header) record.Header {
	h.Run, h.Check = r.Options.Run, r.Options.Check
	h.Directory, _ = os.Getwd() // "" if it has been removed: then nothing relative was read
	return h
}

// took gives what says how long the last run like this one took on so many hosts.
func (f *fleet) took(r *playbooks.Runner, h record.Header) func(hosts int) time.Duration {
	store, err := f.app.records()
	if err != nil || h.Command == "" {
		return nil
	}
	h = ofRunner(r, h)
	h.Flags = f.given()
	return func(hosts int) time.Duration { return store.Took(h, hosts) }
}

// told is what earlier runs have told, as far as it is recorded here.
func (f *fleet) told() *record.Told {
	store, err := f.app.records()
	if err != nil {
		return nil
	}
	return store.Told()
}

// header is what the record says of a run of manifests. It is made before the run begins,
// so that it has the hashes of what was read.
func header(command string, paths []string, plays []*manifest.Play) record.Header {
	h := record.Header{Command: command}
	var shown []string
	seen := map[string]bool{}
	for _, path := range paths {
		name := source.ShownName(path)
		h.Manifests = append(h.Manifests, record.Manifest{Path: name, SHA256: hashOf(path), Withheld: name != path})
		shown, seen[path] = append(shown, name), true
	}
	for _, p := range plays {
		files := []string{p.File}
		if p.Rollout != nil { // which may stand in a file of its own
			files = append(files, p.Rollout.At.File)
		}
		for _, file := range files {
			if sum := hashOf(file); sum != "" && !seen[file] {
				seen[file] = true
				h.Files = append(h.Files, record.Manifest{Path: file, SHA256: sum})
			}
		}
	}
	h.What = strings.Join(shown, " ")
	return h
}

// hashOf is the SHA-256 of a regular file, in hex; "" of anything else.
func hashOf(path string) string {
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

// recordedHosts returns the hosts of a recorded run for a limit such as @last:failed. There, last is the
// newest run that applied manifests: a check run or an ad-hoc call after it does not count.
func (a *app) recordedHosts(name, state string) ([]string, error) {
	store, err := a.records()
	if err != nil {
		return nil, err
	}
	if name != "last" {
		r, err := store.Find(name)
		if err != nil {
			return nil, err
		}
		return r.Hosts(state)
	}
	r, err := store.Last(func(r *record.Run) bool { return r.Applied() })
	if errors.Is(err, record.ErrNone) {
		return nil, fmt.Errorf("@last: %w that applied manifests\n  hint: ccm-push runs lists all runs; @RUN:%s selects hosts of a check run or an ad-hoc call", record.ErrNone, state)
	}
	if err != nil {
		return nil, err
	}
	if newest, err := store.Find("last"); err == nil && newest.Run != r.Run {
		a.say(fmt.Sprintf("@last is run %s; run %s is newer, but did not apply manifests", describeRun(r), describeRun(newest)))
	}
	return r.Hosts(state)
}

// describeRun returns the id, the time, the kind and the subject of a run, in a line.
func describeRun(r *record.Run) string {
	kind := "applied manifests"
	switch {
	case r.Check && len(r.Manifests) > 0:
		kind = "check run"
	case r.Undoes != "":
		kind = "undo"
	case r.Command == "check-health":
		kind = "health check"
	case len(r.Manifests) == 0:
		kind = "ad-hoc call"
	}
	if r.Check && len(r.Manifests) == 0 {
		kind = "check run of an " + kind
	}
	return fmt.Sprintf("%s of %s (%s: %s)", r.Run, r.Started.Local().Format("2006-01-02 15:04:05"), kind, shortWhat(r.What))
}

// shownRun returns the run with a name. For last it prints which run that is: the newest of any kind.
func (a *app) shownRun(name string) (*record.Run, error) {
	r, err := a.recordedRun(name)
	if err == nil && name == "last" {
		a.say("last is run " + describeRun(r))
	}
	return r, err
}

// recordedRun gives the run with a name, see [record.Store.Find].
func (a *app) recordedRun(name string) (*record.Run, error) {
	store, err := a.records()
	if err != nil {
		return nil, err
	}
	return store.Find(name)
}

// adHocHeader is what the record says of an ad-hoc call.
func adHocHeader(pattern string, play *manifest.Play, output bool) record.Header {
	h := record.Header{Command: "ad-hoc", AdHoc: output}
	h.What = fmt.Sprintf("%s %s", pattern, strings.Join(play.LiteralRefs(), " "))
	return h
}
