package brings

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// The host's own rpm reads the headers: it verifies their digests, and their signatures by the keys that the host trusts.

const (
	maxHeader = 2 << 20 // bytes of a package file before its content
	maxStarts = 8 << 20 // bytes that are fetched for the headers of all packages
	maxOutput = 8 << 20 // bytes that rpm prints about some packages
	atOnceRPM = 20      // packages that rpm reads at once
)

// RPMEnd returns the size, in bytes, of the begin of a package file up to the end of its header. If head is too short,
// whole is false, and the next call needs at least size bytes.
func RPMEnd(head []byte) (size int64, whole bool, err error) {
	const lead, intro = 96, 16
	if !bytes.HasPrefix(head, []byte("\xed\xab\xee\xdb")) {
		return 0, false, errArchive
	}
	at := int64(lead)
	for n := range 2 { // the signature, and the header
		if at += -at & 7; at+intro > int64(len(head)) {
			return at + intro, false, nil
		}
		h := head[at : at+intro]
		at += intro + 16*int64(binary.BigEndian.Uint32(h[8:])) + int64(binary.BigEndian.Uint32(h[12:]))
		switch {
		case !bytes.HasPrefix(h, []byte("\x8e\xad\xe8\x01")):
			return 0, false, errArchive
		case at > maxHeader:
			return 0, false, errTooMuch
		case n == 1:
			return at, true, nil
		}
	}
	return 0, false, errArchive
}

// Formats of rpm --queryformat. Each record is a line of fields; some fields are quoted as for a shell.
const (
	rpmName    = `H %{NAME:shescape} %{EPOCHNUM} %{VERSION} %{RELEASE}\n`
	rpmTrigger = `%|KINDSCRIPTS?{[X %{KINDSCRIPTPROG:shescape} %{KINDSCRIPTS:shescape}\n][L %{KINDINDEX} %{KINDNAME:shescape}\n]}|`
	rpmScript  = `%|KINDPROG?{S KIND %{KINDFLAGS} [%{KINDPROG:shescape} ]%|KIND?{%{KIND:shescape}}:{''}|\n}|`
	rpmFiles   = `%|BASENAMES?{[F %{FILENAMES:shescape} %{FILEMODES} %{FILEFLAGS} %{FILEUSERNAME:shescape} %{FILEGROUPNAME:shescape} %{LONGFILESIZES} %{FILEDIGESTS:shescape} %{FILELINKTOS:shescape} %{FILENLINKS}\n]}|`
)

// RPMTriggers returns the format for the names of packages and their triggers.
func RPMTriggers() string {
	return rpmName + ofKinds(rpmTrigger, "TRIGGER", "FILETRIGGER", "TRANSFILETRIGGER")
}

// RPMHeaders returns the format for everything that [ParseHeaders] reads.
func RPMHeaders() string {
	return RPMTriggers() + ofKinds(rpmScript, "PRETRANS", "PREIN", "POSTIN", "POSTTRANS", "PREUN", "POSTUN") + rpmFiles
}

func ofKinds(format string, kinds ...string) (all string) {
	for _, kind := range kinds {
		all += strings.ReplaceAll(format, "KIND", kind)
	}
	return all
}

// A Header describes a package of rpm.
type Header struct {
	Name, Version string // version: [epoch:]version-release
	Control
	entries []Entry
}

// A Trigger is a script that runs after changes of other packages, or of files.
type Trigger struct {
	Package string   // owner of the script
	On      []string // names of packages, and begins of paths
	Script  string
}

// Flags of files and of scripts (rpmfiles.h, rpmds.h).
const (
	flagConfig    = 1 << 0
	flagDoc       = 1 << 1
	flagNoReplace = 1 << 4
	flagGhost     = 1 << 6

	flagsExpanded = 1<<0 | 1<<1 // rpm changes the text of the script before it runs
)

// ParseHeaders reads what rpm prints in the format of [RPMHeaders] or [RPMTriggers]. It skips other lines, such as messages
// about packages that are not installed.
func ParseHeaders(text string) (headers []Header, err error) {
	var h *Header
	var scripts []string // the latest scripts of triggers
	last, files := "", 0
	for text != "" {
		var f []string
		if f, text, err = record(text); err != nil {
			return nil, err
		}
		if len(f) == 0 {
			continue
		}
		switch {
		case f[0] == "H" && len(f) == 5:
			version := f[3] + "-" + f[4]
			if f[2] != "0" {
				version = f[2] + ":" + version
			}
			headers = append(headers, Header{Name: f[1], Version: version})
			h, scripts = &headers[len(headers)-1], nil
		case h == nil:
		case f[0] == "X" && len(f) == 3:
			if last == "L" {
				scripts = nil
			}
			scripts = append(scripts, scriptOf(f[1:2], f[2], ""))
		case f[0] == "L" && len(f) == 3:
			n, err := strconv.Atoi(f[1])
			if err != nil || n < 0 || n >= len(scripts) {
				return nil, errArchive
			}
			h.Answers = append(h.Answers, Trigger{h.Name, f[2:], scripts[n]})
		case f[0] == "S" && len(f) >= 5:
			script := scriptOf(f[3:len(f)-1], f[len(f)-1], f[2])
			if f[1] == "PREUN" || f[1] == "POSTUN" {
				h.Leaving = append(h.Leaving, script)
			} else {
				h.Scripts = append(h.Scripts, script)
			}
		case f[0] == "F" && len(f) == 10:
			if files++; files > maxEntries {
				return nil, errTooMuch
			}
			if err := h.file(f[1:]); err != nil {
				return nil, err
			}
		}
		last = f[0]
	}
	return headers, nil
}

// record reads the fields of a line.
func record(text string) (fields []string, rest string, err error) {
	var b strings.Builder
	in := false // a field has begun
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\n':
			if in {
				fields, in = append(fields, b.String()), false
				b.Reset()
			}
			if c == '\n' {
				return fields, text[i+1:], nil
			}
		case '\'':
			n := strings.IndexByte(text[i+1:], '\'')
			if n < 0 {
				if len(fields) == 0 || len(fields[0]) > 1 { // of another message
					return nil, "", nil
				}
				return nil, "", errArchive
			}
			b.WriteString(text[i+1 : i+1+n])
			i, in = i+1+n, true
		case '\\':
			i++
			if i < len(text) {
				b.WriteByte(text[i])
			}
			in = true
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if in {
		fields = append(fields, b.String())
	}
	return fields, "", nil
}

// scriptOf returns a script with its interpreter in the first line. A program without a script is a command.
func scriptOf(program []string, text, flags string) string {
	n, _ := strconv.Atoi(flags)
	switch {
	case n&flagsExpanded != 0:
		return "#!expanded\n" + text
	case text == "":
		return strings.Join(program, " ")
	}
	return "#!" + strings.Join(program, " ") + "\n" + text
}

// file adds a file by the fields of its record. Ghosts and documentation, which a host may omit, go into Ghosts.
func (h *Header) file(f []string) error {
	mode, err := strconv.Atoi(f[1])
	flags, err2 := strconv.Atoi(f[2])
	size, err3 := strconv.ParseInt(f[5], 10, 64)
	links, err4 := strconv.Atoi(f[8])
	if err := errors.Join(err, err2, err3, err4); err != nil || size < 0 || !path.IsAbs(f[0]) {
		return cmp.Or(err, errArchive)
	}
	e := Entry{Path: path.Clean(f[0]), Mode: fileMode(int64(mode)), User: f[3], Group: f[4], UID: numberOf(f[3]), GID: numberOf(f[4]), Size: size}
	switch mode & 0o170000 {
	case 0o040000:
		e.Kind = modules.Directory
	case 0o120000:
		e.Kind, e.Target = modules.Symlink, f[7]
	case 0o100000:
		e.Kind, e.Hard = modules.Regular, links > 1
		if modules.IsDigest(f[6]) {
			e.Sum = f[6]
		}
		if size == 0 {
			e.Data = []byte{}
		}
	default:
		e.Kind = modules.Special
	}
	switch {
	case flags&(flagGhost|flagDoc) != 0:
		h.Ghosts = append(h.Ghosts, e.Path)
		return nil
	case e.Kind == modules.Regular && flags&flagConfig != 0:
		h.Conffiles = append(h.Conffiles, e.Path)
		if flags&flagNoReplace != 0 {
			h.Kept = append(h.Kept, e.Path)
		}
	case e.Kind == modules.Regular:
		h.Files = append(h.Files, e.Path)
	}
	h.entries = append(h.entries, e)
	return nil
}

// numberOf returns the number of a user or group. A header has names only, and hosts may differ in all but root's.
func numberOf(name string) int {
	if name == "root" {
		return 0
	}
	return math.MaxInt32
}

// LookRPM gets and reads the headers of packages, and their first files, if later resources may read them. An error means
// that a header is unknown.
func (f *Fetcher) LookRPM(ctx context.Context, run Runner, packages []*Package) error {
	parts, err := f.begins(packages, maxStarts, func(p *Package) (begin part, err error) {
		begin, p.start, err = f.header(ctx, p.File)
		return begin, err
	})
	if err != nil {
		return err
	}
	for from := 0; from < len(packages); from += atOnceRPM {
		some := packages[from:min(from+atOnceRPM, len(packages))]
		argv := []string{"rpm", "-qp", "--qf", RPMHeaders(), "--"}
		for i := range some {
			argv = append(argv, parts[from+i].path)
		}
		text, all, err := run(ctx, maxOutput, argv...)
		if err == nil && !all {
			err = errTooMuch
		}
		if err != nil {
			return err
		}
		headers, err := ParseHeaders(text)
		if err != nil {
			return err
		}
		if len(headers) != len(some) {
			return errArchive
		}
		for i, p := range some {
			h := headers[i]
			if h.Name != p.Name || h.Version != p.Version {
				return errArchive
			}
			p.rpm, p.control, p.entries = true, h.Control, h.entries
		}
	}
	f.growAll(ctx, run, packages, parts)
	return nil
}

// header gets a package up to the end of its header, and returns the size of this part, in bytes.
func (f *Fetcher) header(ctx context.Context, file File) (part, int64, error) {
	need := int64(firstPart)
	for range 4 {
		p, err := f.get(ctx, file, need)
		if err != nil {
			return p, 0, err
		}
		head, err := p.head(need)
		if err != nil {
			return p, 0, err
		}
		size, whole, err := RPMEnd(head)
		switch {
		case err != nil:
			return p, 0, err
		case size > file.Size:
			return p, 0, errArchive
		case whole && size <= p.have:
			return p, size, nil
		}
		need = size
	}
	return part{}, 0, errArchive
}

// fill adds the contents of the first files of a package, if their digests are as in the header.
func (p *Package) fill(ctx context.Context, run Runner, have part) error {
	text, all, err := run(ctx, maxDataTar, "rpm2cpio", have.path) // which fails at the end of the part
	if err != nil && text == "" {
		return err
	}
	if !all {
		text = text[:maxDataTar/8*3] // before the middle, which was dropped
	}
	contents := ReadCPIO([]byte(text))
	for i, e := range p.entries {
		data, ok := contents[e.Path]
		if sum := sha256.Sum256(data); ok && e.Sum == hex.EncodeToString(sum[:]) {
			p.entries[i].Data = data
		}
	}
	return nil
}

// ReadCPIO returns the contents of files in an archive of the format newc of cpio(5), which may be cut off. They are parts
// of the archive's bytes.
func ReadCPIO(text []byte) map[string][]byte {
	const header = 110
	contents := map[string][]byte{}
	for len(text) >= header && bytes.HasPrefix(text, []byte("070701")) && len(contents) < maxEntries {
		size, err := strconv.ParseUint(string(text[54:62]), 16, 32)
		nameSize, err2 := strconv.ParseUint(string(text[94:102]), 16, 16)
		begin := (header + int(nameSize) + 3) &^ 3
		end := begin + int(size)
		if err != nil || err2 != nil || end > len(text) {
			break
		}
		name := tarText(text[header:begin])
		if name == "TRAILER!!!" {
			break
		}
		contents[path.Join("/", name)] = text[begin:end]
		text = text[min(len(text), (end+3)&^3):]
	}
	return contents
}

// A preset enables or disables new units with matching names.
type preset struct {
	pattern string
	enable  bool
}

// presets returns the lines of systemd.preset(5) files of the host and of packages. known is false if a file cannot be
// read.
func (f *forecast) presets(packages []*Package) (all []preset, known bool) {
	known = true
	texts := map[string]string{} // by the name of the file: the first folder counts
	for _, dir := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib"} {
		dir += "/systemd/system-preset"
		names, _ := f.Files.List(dir)
		for _, name := range names {
			if _, earlier := texts[name]; !earlier && strings.HasSuffix(name, ".preset") {
				text, err := f.read(path.Join(dir, name))
				known = known && err == nil
				texts[name] = text
			}
		}
	}
	for _, p := range packages {
		for _, name := range slices.Concat(p.control.Files, p.control.Conffiles) {
			if strings.HasSuffix(path.Dir(name), "/systemd/system-preset") {
				text, ok := p.text(name)
				known = known && ok
				texts[path.Base(name)] = text
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for line := range strings.Lines(texts[name]) {
			if fields := strings.Fields(line); len(fields) > 1 && (fields[0] == "enable" || fields[0] == "disable") {
				all = append(all, preset{fields[1], fields[0] == "enable"})
			}
		}
	}
	return all, known
}

// enables reports whether presets enable a unit: the first line counts, and without any, it is enabled.
func enables(all []preset, unit string) bool {
	for _, p := range all {
		if ok, _ := path.Match(p.pattern, unit); ok {
			return p.enable
		}
	}
	return true
}
