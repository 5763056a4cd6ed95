package brings

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

var errArchive = errors.New("this is not a package file")

// Sizes of ar(5): the magic string, and the header of a member.
const (
	arMagic  = "!<arch>\n"
	arHeader = 60
)

// ControlEnd returns the size, in bytes, of the begin of a package file up to the end of its control member. head has the
// first bytes of the file; if they end before the header of the member, the result is 0.
func ControlEnd(head []byte) (int64, error) {
	if !bytes.HasPrefix(head, []byte(arMagic)) {
		return 0, errArchive
	}
	at := int64(len(arMagic))
	for range 8 { // debian-binary is the first one, and others may begin with an underscore (deb(5))
		if at+arHeader > int64(len(head)) {
			return 0, nil
		}
		header := head[at : at+arHeader]
		size, err := strconv.ParseInt(strings.TrimRight(string(header[48:58]), " "), 10, 64)
		if err != nil || size < 0 || string(header[58:]) != "`\n" {
			return 0, errArchive
		}
		if at += arHeader + size; bytes.HasPrefix(header, []byte("control.tar")) {
			return at, nil
		}
		at += size & 1
	}
	return 0, errArchive
}

// An Entry is a member of a tar archive.
type Entry struct {
	Path        string // absolute and clean
	Kind        modules.FileKind
	Mode        fs.FileMode // permission bits, setuid, setgid and sticky
	UID, GID    int
	User, Group string // empty if the archive has only numbers
	Target      string // target of a symbolic link
	Hard        bool   // another name of Target, an absolute path
	Data        []byte // content of a regular file; part of the archive's bytes; nil if it is not known
	Sum         string // SHA-256 of a regular file without Data; empty if it is not known
	Size        int64  // bytes of a regular file without Data
}

const tarBlock = 512

// maxEntries bounds the members of a tar archive that are read.
const maxEntries = 100_000

// ReadTar returns the complete members of a tar archive that may be cut off. whole reports that its end was reached. It
// reads the formats that dpkg reads, except sparse files.
func ReadTar(text []byte) (entries []Entry, whole bool, err error) {
	var name, target string // from members for long names
	for len(text) >= tarBlock {
		header := text[:tarBlock]
		if header[0] == 0 {
			return entries, true, nil
		}
		size, ok := tarNumber(header[124:136])
		sum, ok2 := tarNumber(header[148:156])
		if !ok || !ok2 || sum != tarSum(header) || len(entries) == maxEntries {
			return entries, false, errArchive
		}
		kind := header[156]
		if kind >= '1' && kind <= '6' { // these have no data
			size = 0
		}
		padded := (size + tarBlock - 1) / tarBlock * tarBlock
		if padded > int64(len(text)-tarBlock) {
			return entries, false, nil
		}
		data := text[tarBlock : tarBlock+size]
		text = text[tarBlock+padded:]
		switch kind {
		case 'L':
			name = tarText(data)
			continue
		case 'K':
			target = tarText(data)
			continue
		}
		e, err := tarEntry(header, name, target)
		if err != nil {
			return entries, false, err
		}
		if e.Kind == modules.Regular && !e.Hard {
			e.Data = data
		}
		entries, name, target = append(entries, e), "", ""
	}
	return entries, false, nil
}

func tarEntry(header []byte, name, target string) (Entry, error) {
	mode, ok := tarNumber(header[100:108])
	uid, ok2 := tarNumber(header[108:116])
	gid, ok3 := tarNumber(header[116:124])
	if !ok || !ok2 || !ok3 || uid > 1<<31 || gid > 1<<31 {
		return Entry{}, errArchive
	}
	if name == "" {
		if name = tarText(header[:100]); string(header[257:263]) == "ustar\x00" {
			if prefix := tarText(header[345:500]); prefix != "" {
				name = prefix + "/" + name
			}
		}
	}
	if target == "" {
		target = tarText(header[157:257])
	}
	e := Entry{
		Path: path.Join("/", name), Mode: fileMode(mode), UID: int(uid), GID: int(gid),
		User: tarText(header[265:297]), Group: tarText(header[297:329]),
	}
	switch header[156] {
	case 0, '0', '7':
		e.Kind = modules.Regular
	case '1':
		e.Kind, e.Hard, e.Target = modules.Regular, true, path.Join("/", target)
	case '2':
		e.Kind, e.Target = modules.Symlink, target
	case '3', '4', '6':
		e.Kind = modules.Special
	case '5':
		e.Kind = modules.Directory
	default:
		return Entry{}, errArchive
	}
	return e, nil
}

// fileMode returns permission bits, setuid, setgid and sticky.
func fileMode(mode int64) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, flag := range map[int64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= flag
		}
	}
	return m
}

// tarText returns a field up to its first NUL.
func tarText(field []byte) string {
	text, _, _ := bytes.Cut(field, []byte{0})
	return string(text)
}

// tarNumber reads an octal number. Larger numbers than the field has digits for are in no package.
func tarNumber(field []byte) (int64, bool) {
	text := strings.Trim(tarText(field), " ")
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 8, 64)
	return n, err == nil && n >= 0 && n < 1<<40
}

// tarSum adds the bytes of a header, with spaces in place of the sum itself.
func tarSum(header []byte) int64 {
	var sum int64
	for i, b := range header {
		if i >= 148 && i < 156 {
			b = ' '
		}
		sum += int64(b)
	}
	return sum
}
