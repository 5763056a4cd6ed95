package start

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// footprintScript lists the files that runs have left on a host for the user that it runs as, and removes them if its
// argument is remove. Like [script] it is one text for every host. It enters only directories that belong to the user
// and are not links, and works inside them, so that no other user can replace them; rm(1) and find(1) follow no links
// below them. It removes nothing while a run holds its lock, or while a command of a run that has died still runs.
//
// Its arguments are NONCE list or NONCE remove. It answers with lines. The first is begin NONCE, and each other one
// begins with a word and the nonce:
//
//	begin NONCE
//	user:NONCE:NAME:SECONDS      the user, and the time on the host
//	dir:NONCE:PATH               the next items are below this directory
//	item:NONCE:MODE:SIZE:SECONDS:OWNER:PATH   MODE is st_mode in hex
//	tree:NONCE:SIZE PATH         a directory whose contents are not listed; SIZE is in KiB
//	held:NONCE:{…}               a lock file of the directory that is held, and its text
//	armed:NONCE:WATCH:PATH       the line before is a change that is not confirmed; WATCH: whether its watchdog
//	                             runs, yes, no or unknown
//	until:NONCE:ID NANOSECONDS   its deadline, if there was progress
//	clock:NONCE:SECONDS …        the time since the host was started
//	boot:NONCE:TEXT              identifies that start of the host
//	change:NONCE:{…              the begin of a change of that run
//	skip:NONCE:WORD:PATH         skipped: a link, or another user's
//	left:NONCE:PATH              it could not be removed
//	done:NONCE
const footprintScript = `set -f; n=$1; m=$2; ` + begins + `; IFS=; umask 077; echo begin $n; ` +
	`u=$(id -u); echo user:$n:$(id -un):$(date +%s); h=${HOME:-/dev/null}; ` +
	// The places, as the installation and the host program choose them.
	`r=/run; test -d $r || r=/var/run; ` +
	`set -- $h/.cache/ccm-push /var/tmp/ccm-push-$u /tmp/ccm-push-$u; ` +
	`test $u -eq 0 && set -- $@ $r/ccm-push /var/lib/ccm-push /tmp/ccm-push-root; ` +
	// enter changes to a directory that belongs to the user. A different name then means that another process has just
	// put a link in its place.
	`enter() { cd /; test -h $d && { echo skip:$n:link:$d; return 1; }; test -e $d || return 1; ` +
	`cd -P $d 2>/dev/null && test -O . && case ${PWD##*/} in ${d##*/}) ;; *) false;; esac || ` +
	`{ cd /; echo skip:$n:owner:$d; return 1; }; }; ` +
	// show lists the directory. GNU and busybox share one syntax of stat, BSD has another.
	`s=-f; f=item:$n:%Xp:%z:%m:%Su:%N; stat -c %u / >/dev/null 2>&1 && { s=-c; f=item:$n:%f:%s:%Y:%U:%n; }; ` +
	// For files of plays and for former contents, show prints only the size: there can be many files.
	`show() { echo dir:$n:$d; find . -xdev -path ./resources/*/files -prune -exec stat $s $f {} + -o -path ./*history/contents -prune -exec stat $s $f {} + -o -exec stat $s $f {} + 2>/dev/null; ` +
	`set +f; for l in ./resources/*/files ./*history/contents; do test -d $l && echo tree:$n:$(du -sk $l 2>/dev/null); done; set -f; }; ` +
	// works finds a command that still runs although its run has ended. After the first line, a lock file lists process
	// ids, each with the first and the last possible start time of its process (proc(5), starttime).
	`works() { unset IFS; while read -r p a z x; do case $p in [1-9]*) ` +
	`if test -e /proc/self/stat; then read -r x </proc/$p/stat && set -- ${x##*) } && test ${20} -ge $a && test ${20} -le $z; ` +
	`else kill -0 $p; fi && { IFS=; return 0; };; esac; done <$1; IFS=; return 1; }; ` +
	// taken tries to take a lock without waiting. If the host has no program for that, a file with a holder counts as
	// held.
	`taken() { works $1 && return 0; if command -v flock >/dev/null; then flock -n $1 true && return 1; ` +
	`elif command -v lockf >/dev/null; then lockf -k -s -t 0 $1 true && return 1; else test -s $1 || return 1; fi; return 0; }; ` +
	// armed describes the change that is not confirmed whose state is in l: its watchdog, its clock, its resources.
	`armed() { set -f; k=${l%confirm-*}; w=no; command -v flock >/dev/null || command -v lockf >/dev/null || w=unknown; ` +
	`test -f ${k}confirm.watch && taken ${k}confirm.watch 2>/dev/null && w=yes; echo armed:$n:$w:$l; ` +
	`echo until:$n:$(cat ${k}confirm.deadline 2>/dev/null); echo clock:$n:$(cat /proc/uptime 2>/dev/null); ` +
	`echo boot:$n:$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) $(readlink /proc/self/ns/pid); ` +
	`i=; j=1; IFS=,; for w in $(head -c 1000 $l); do case $w in ?run?:*) i=${w#???????}; i=${i%?};; ?first?:*) j=${w#????????};; esac; done; IFS=; ` +
	`grep ^..change ${k}history/$i.jsonl 2>/dev/null | tail -n +$j | head -n 21 | cut -b 1-600 | while read -r x; do printf %s change:$n:$x; echo; done; }; ` +
	`locks() { set +f; for l in ./*.lock; do test -h $l && continue; test -f $l || continue; ` +
	`taken $l 2>/dev/null && { b=1; printf %s held:$n:; head -c 1000 $l; echo; }; done; ` +
	// A change that is not confirmed yet, or is being reverted, needs its state, so these stay.
	`for l in ./*confirm-*.armed ./*confirm-*.reverting; do test -f $l && { b=1; printf %s held:$n:; head -c 1000 $l; echo; armed; }; done; set -f; }; ` +
	// The unit that takes that back when the host starts (modules/system/bootunit.go).
	`unit() { test $u -eq 0 && cd /etc/systemd/system 2>/dev/null && for l in ccm-push-confirm.service multi-user.target.wants/ccm-push-confirm.service; ` +
	`do if test -h $l || test -e $l; then $@ $l; fi; done; }; ` +
	`b=; for d do enter || continue; show; locks; done; echo dir:$n:/etc/systemd/system; unit stat $s $f; ` +
	`case $m$b in remove) for d do enter >/dev/null || continue; ` +
	`find . -name . -o -exec rm -rf {} + -prune 2>/dev/null; cd /; rmdir $d 2>/dev/null || echo left:$n:$d; done; unit rm -f;; esac; ` +
	`echo done:$n`

// A FootprintRequest requests the list of what runs have left on a host for one user.
type FootprintRequest struct {
	Nonce   string  // letters and digits; must differ for every request
	Become  *Become // nil means the login user
	Remove  bool    // all of it, unless a run is under way
	Timeout time.Duration
}

// A Footprint lists what runs have left on a host for one user, before its removal.
type Footprint struct {
	User   string
	Now    time.Time // on the host
	Traces []Trace
	// Held lists the holders of locks that prevent the removal, in the host's words.
	Held []Holder
	// Unconfirmed are the changes that are armed and not confirmed, which are in Held, too.
	Unconfirmed []Unconfirmed
	Skipped     []Skipped
	Left        []string // directories that could not be removed
}

// A Trace is a file or directory. Path and owner are in the host's words.
type Trace struct {
	Path     string
	Mode     fs.FileMode
	Size     int64 // bytes
	Modified time.Time
	Owner    string
	// Whole marks a directory whose contents are not listed. Its size includes them.
	Whole bool
}

// A Holder is a run that holds a lock; "" if the lock does not say.
type Holder struct {
	Holder string `json:"holder"`
	Run    string `json:"run"`
}

// An Unconfirmed is a change that is armed and not confirmed. All of it is in the host's words.
type Unconfirmed struct {
	Holder
	At        time.Time     // when it was armed; zero if that is not known
	Left      time.Duration // until the deadline; at most 0 after it and after a restart of the host
	Watched   string        // whether the watchdog runs: "yes", "no" or "unknown"
	Reverting bool          // the change is being taken back
	Resources []string      // type#name, at most 20
	More      bool          // there are other resources, or some whose names are secret

	id     string
	start  string
	until  time.Duration
	within time.Duration
	now    time.Duration // since the host was started
}

// maxArmed bounds the listed resources of a change that is not confirmed.
const maxArmed = 20

// A Skipped is a place that was not looked at.
type Skipped struct{ Path, Reason string }

// maxTraces bounds what a host may say about itself, in bytes: 1 MiB.
const maxTraces = 1 << 20

// FootprintOf lists the files that runs have left on the host, and removes them if r requests it. Every error is a
// [transport.HostError].
func FootprintOf(ctx context.Context, c *transport.Client, r FootprintRequest) (Footprint, error) {
	greeting := "begin " + r.Nonce
	request := Request{Nonce: r.Nonce, Greeting: []byte(greeting), Become: r.Become, Timeout: r.Timeout}
	if err := request.validate(); err != nil {
		return Footprint{}, c.Target().Fail(transport.OpStart, err, "")
	}
	mode := "list"
	if r.Remove {
		mode = "remove"
	}
	line, err := r.Become.commandLine(r.Nonce, footprintScript, []string{r.Nonce, mode})
	if err != nil {
		return Footprint{}, c.Target().Fail(transport.OpStart, err, "")
	}
	scripts := newRunner(c, request)
	var text []byte
	err = scripts.untilIdle(ctx, func() (err error) {
		text, err = scripts.output(line)
		return err
	})
	if err != nil {
		return Footprint{}, err
	}
	f, err := parseFootprint(r.Nonce, text)
	if err != nil {
		return Footprint{}, c.Target().Fail(transport.OpStart, err, "")
	}
	return f, nil
}

// output returns the output of a script after its greeting.
func (r *runner) output(line string) ([]byte, error) {
	p, _, err := r.run(line)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	text, err := io.ReadAll(io.LimitReader(movingReader{p.stdout, r.idle.progress}, maxTraces+1))
	switch {
	case err != nil:
	case len(text) > maxTraces:
		err = fmt.Errorf("the host sent a list of more than %d MiB", maxTraces>>20)
	default:
		err = p.Wait()
	}
	if err != nil {
		return nil, r.fail(err, "")
	}
	return text, nil
}

var errCutShort = errors.New("the list of files on the host is incomplete")

// parseFootprint reads the output of the script. It skips lines without the nonce, since a file name may contain line
// ends.
func parseFootprint(nonce string, text []byte) (Footprint, error) {
	var f Footprint
	var dir, lock string
	trees := map[string]int64{}
	done := false
	for line := range strings.Lines(string(text)) {
		kind, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		rest, ours := strings.CutPrefix(rest, nonce)
		if !ours {
			continue
		}
		rest = strings.TrimPrefix(rest, ":")
		var err error
		switch kind {
		case "user":
			name, now, _ := strings.Cut(rest, ":")
			f.User = name
			f.Now, err = seconds(now)
		case "dir":
			dir = rest
		case "item":
			err = f.addTrace(dir, rest)
		case "tree":
			var path string
			var size int64
			path, size, err = treeSize(dir, rest)
			trees[path] = size
		case "held":
			var h Holder
			_ = json.Unmarshal([]byte(rest), &h) // a lock file need not name its holder
			f.Held = append(f.Held, h)
			lock = rest
		case "armed":
			watched, name, _ := strings.Cut(rest, ":")
			f.Unconfirmed = append(f.Unconfirmed, unconfirmedOf(lock, watched, below(dir, name)))
		case "until", "clock", "boot", "change":
			if n := len(f.Unconfirmed); n > 0 {
				f.Unconfirmed[n-1].add(kind, rest)
			}
		case "skip":
			reason, path, _ := strings.Cut(rest, ":")
			f.Skipped = append(f.Skipped, Skipped{path, reason})
		case "left":
			f.Left = append(f.Left, rest)
		case "done":
			done = true
		}
		if err != nil {
			return Footprint{}, fmt.Errorf("the host sent an invalid list of files, %.100q: %w", line, err)
		}
	}
	if !done {
		return Footprint{}, errCutShort
	}
	for i := range f.Traces {
		if t := &f.Traces[i]; t.Mode.IsDir() {
			if size, whole := trees[t.Path]; whole {
				t.Size, t.Whole = size, true
			}
		}
	}
	slices.SortFunc(f.Traces, func(a, b Trace) int { return cmp.Compare(a.Path, b.Path) })
	return f, nil
}

// unconfirmedOf reads the state of a change that is not confirmed, as modules/engine/confirm writes it.
func unconfirmedOf(state, watched, path string) Unconfirmed {
	var s struct {
		Holder
		ID     string        `json:"id"`
		At     time.Time     `json:"at"`
		Start  string        `json:"start"`
		Until  time.Duration `json:"until"`
		Within time.Duration `json:"within"`
	}
	_ = json.Unmarshal([]byte(state), &s) // a damaged state is shown without its parts
	return Unconfirmed{
		Holder: s.Holder, Watched: watched, Reverting: strings.HasSuffix(path, ".reverting"), At: s.At,
		id: s.ID, start: s.Start, until: s.Until, within: s.Within,
	}
}

// add reads one of the lines that follow armed.
func (u *Unconfirmed) add(kind, text string) {
	switch kind {
	case "until":
		id, number, _ := strings.Cut(text, " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && id == u.id {
			u.until = time.Duration(n)
		}
	case "clock":
		number, _, _ := strings.Cut(text, " ")
		if s, err := strconv.ParseFloat(number, 64); err == nil && s >= 0 && s < 1e9 {
			u.now = time.Duration(s * float64(time.Second))
		}
	case "boot": // the last one
		if text == u.start && u.now > 0 {
			u.Left = min(u.until-u.now, u.within)
		}
	case "change":
		switch ref, sensitive := changeRef(text); {
		case ref == "" || sensitive || len(u.Resources) == maxArmed:
			u.More = true
		case !slices.Contains(u.Resources, ref):
			u.Resources = append(u.Resources, ref)
		}
	}
}

// changeRef reads which resource a change is about, from the begin of its line in the history: the names come
// first. It returns "" if they are cut off.
func changeRef(text string) (ref string, sensitive bool) {
	d := json.NewDecoder(strings.NewReader(text))
	var fields = map[string]string{}
	for range 3 { // {"change":{
		if _, err := d.Token(); err != nil {
			return "", false
		}
	}
	for {
		key, err := d.Token()
		if err != nil {
			return "", false
		}
		name, _ := key.(string)
		if !slices.Contains([]string{"n", "play", "type", "name", "alias", "sensitive"}, name) {
			break
		}
		value, err := d.Token()
		if err != nil {
			return "", false
		}
		fields[name] = fmt.Sprint(value)
	}
	name := cmp.Or(fields["alias"], fields["name"])
	if fields["type"] == "" || name == "" {
		return "", false
	}
	return fields["type"] + "#" + name, fields["sensitive"] == "true"
}

func (f *Footprint) addTrace(dir, text string) error {
	words := strings.SplitN(text, ":", 5)
	if len(words) != 5 {
		return errors.New("words are missing")
	}
	mode, err := strconv.ParseUint(words[0], 16, 32)
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || size < 0 {
		return fmt.Errorf("the size %q is not a number", words[1])
	}
	modified, err := seconds(words[2])
	if err != nil {
		return err
	}
	f.Traces = append(f.Traces, Trace{Path: below(dir, words[4]), Mode: fileMode(uint32(mode)), Size: size, Modified: modified, Owner: words[3]})
	return nil
}

// treeSize returns the size of a directory with its contents, in bytes.
func treeSize(dir, text string) (path string, size int64, err error) {
	kib, name, _ := strings.Cut(text, "\t")
	size, err = strconv.ParseInt(kib, 10, 64)
	if err != nil || size < 0 || size > math.MaxInt64>>10 {
		return "", 0, fmt.Errorf("the size %q is not a number", kib)
	}
	return below(dir, name), size << 10, nil
}

// below returns the path of name, as find(1) prints it, in dir.
func below(dir, name string) string {
	return dir + "/" + strings.TrimPrefix(strings.TrimPrefix(name, "."), "/")
}

func seconds(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(n, 0), nil
}

// fileMode reads st_mode (POSIX, sys/stat.h; its values are the same everywhere).
func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	switch bits & 0o170000 {
	case 0o100000:
		return mode
	case 0o040000:
		return mode | fs.ModeDir
	case 0o120000:
		return mode | fs.ModeSymlink
	}
	return mode | fs.ModeIrregular
}
