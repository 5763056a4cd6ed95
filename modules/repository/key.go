package repository

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/download"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// maxKey is how large a public key may be, in bytes.
const maxKey = 1 << 20

const (
	armourBegins = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	armourEnds   = "-----END PGP PUBLIC KEY BLOCK-----"
)

// keyEffect is the kind of effect whose key is the path of a public key, and whose state is the SHA-256 of the wanted
// key, "" if it is removed.
const keyEffect modules.EffectKind = "repository key"

// A KeyBefore is the public key that there was; none, if Gone.
type KeyBefore struct {
	Text string `json:"text,omitempty"`
	Gone bool   `json:"gone,omitempty"`
}

// keySteps are the steps for the key.
type keySteps struct {
	path    string
	makeDir bool
	remove  bool
	content modules.Content // the zero Content is fetched by the host
}

const keyMode = 0o644

// checkKey compares the key. It returns nil steps if nothing has to change.
func (d definition) checkKey(h modules.Host, plan *modules.Plan) (*keySteps, error) {
	_, at := d.at()
	want, content := d.digest(), d.Key
	if !content.IsZero() && !content.Promised() {
		want = content.SHA256()
	}
	remove := d.Ensure == absent
	if d.Restore != nil {
		if d.Restore.Key == nil {
			return nil, nil
		}
		remove = d.Restore.Key.Gone
		content = modules.TextContent(d.Restore.Key.Text)
		want = content.SHA256()
	} else if !remove && !d.hasKey() {
		return nil, nil
	}
	if remove {
		want = ""
	}
	have, err := keyNow(h, at, want)
	if err != nil || have == want {
		return nil, err
	}
	do := &keySteps{path: at, remove: remove, content: content}
	file := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}
	may := h.Files.MayReplace(at)
	if !remove {
		file = modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular, Mode: keyMode}, Partial: true}
		if !content.IsZero() {
			plan.Needs = append(plan.Needs, content)
		}
		dir := path.Dir(at)
		if _, err := modules.Follow(h.Files, dir); modules.NotThere(err) {
			do.makeDir, may = true, h.Files.MayReplace(dir)
			plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: dir, State: modules.PathState{
				FileInfo: modules.FileInfo{Kind: modules.Directory, Mode: 0o755}, Partial: true,
			}})
		}
	}
	if may != nil {
		return nil, modules.PermissionRefusal(may)
	}
	plan.Effects = append(plan.Effects,
		modules.Effect{Kind: modules.PathEffect, Key: at, State: file}, modules.Effect{Kind: keyEffect, Key: at, State: want})
	plan.Changes = append(plan.Changes, modules.Change{Property: "key", Have: named(have), Want: named(want)})
	return do, nil
}

func named(digest string) string {
	if modules.IsDigest(digest) {
		return "sha256:" + digest
	}
	return map[bool]string{true: absent, false: digest}[digest == ""]
}

// keyNow returns the SHA-256 of the current key: the hash of the file or, if it matches the wanted hash, of the key
// inside its armour. It returns "" without a key.
func keyNow(h modules.Host, at, want string) (string, error) {
	if state, predicted := h.Forecast.Lookup(keyEffect, at); predicted {
		return state.(string), nil
	}
	is, err := h.Files.Stat(at)
	switch {
	case modules.NotThere(err):
		return "", nil
	case err != nil:
		return "", modules.PermissionRefusal(err)
	case is.Kind != modules.Regular:
		return "", modules.Refuse("%s is not a file; move it out of the way", at)
	}
	text, err := readKey(h, at)
	if err != nil {
		return "", modules.PermissionRefusal(err)
	}
	sum := digestOf(text)
	if key, err := dearmour(string(text)); err == nil && sum != want && digestOf(key) == want {
		sum = want
	}
	if sum == want && is.Mode.Perm() != keyMode {
		return "mode " + modules.FormatMode(is.Mode), nil
	}
	return sum, nil
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func readKey(h modules.Host, at string) ([]byte, error) {
	file, err := h.Files.Open(at)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxKey+1))
}

// bytes returns the key in the form in which it is written: armoured.
func (r *Repository) bytes(ctx context.Context, h modules.Host, do *keySteps) ([]byte, error) {
	var from io.ReadCloser
	var err error
	if do.content.IsZero() {
		from, err = fetchKey(ctx, h, r.download(), path.Dir(do.path))
	} else {
		from, err = h.Contents.Open(ctx, do.content)
	}
	if err != nil {
		return nil, err
	}
	defer from.Close()
	key, err := io.ReadAll(io.LimitReader(from, maxKey+1))
	switch {
	case err != nil:
		return nil, err
	case len(key) > maxKey:
		return nil, modules.Refuse("the key is larger than %d bytes", maxKey)
	case r.Restore != nil: // whatever it was
		return key, nil
	case r.Checksum != "" && digestOf(key) != r.digest():
		return nil, modules.Refuse(`the checksum of the key is sha256:%s, not the value of the property "checksum" (if you trust this key, change "checksum")`, digestOf(key))
	case !bytes.Contains(key, []byte(armourBegins)):
		if len(key) == 0 || key[0]&0x80 == 0 { // first byte of an OpenPGP packet (RFC 9580, 4.2)
			return nil, modules.Refuse("the file at the URL is not a public key")
		}
		return armour(key), nil
	}
	return key, nil
}

// fetchKey downloads the key on the host, to an unlinked file in that directory or above it.
func fetchKey(ctx context.Context, h modules.Host, from modules.Download, dir string) (io.ReadCloser, error) {
	in, err := h.Files.OpenDirectory(existing(h.Files, dir))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	into, temp, err := rooted.CreateTemp(in, "key")
	if err != nil {
		return nil, err
	}
	if err = in.Remove(temp); err == nil {
		err = download.OnHost(download.Client{}.Get(ctx, from, into, &download.Part{}))
	}
	if err == nil {
		_, err = into.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, into.Close())
	}
	return into, nil
}

// existing is a directory or, if it does not exist, the nearest existing one above it.
func existing(files modules.FileReader, dir string) string {
	for dir != "/" {
		if _, err := files.Stat(dir); err == nil {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

// put writes or removes the key, and returns a function that undoes that.
func (do *keySteps) put(ctx context.Context, h modules.Host, key []byte) (back func(context.Context) error, err error) {
	before, err := readKey(h, do.path)
	there := err == nil
	if err != nil && !modules.NotThere(err) {
		return nil, err
	}
	a := modules.Attributes{Mode: keyMode, UID: -1, GID: -1}
	back = func(ctx context.Context) error {
		if there {
			return h.Files.Write(ctx, do.path, bytes.NewReader(before), a)
		}
		return h.Files.Remove(ctx, do.path, false)
	}
	if do.remove {
		return back, h.Files.Remove(ctx, do.path, false)
	}
	if do.makeDir {
		if err := h.Files.MakeDir(ctx, path.Dir(do.path), modules.Attributes{Mode: 0o755, UID: -1, GID: -1}); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	return back, h.Files.Write(ctx, do.path, bytes.NewReader(key), a)
}

// dearmour returns the key inside an armour (RFC 9580, 6.2).
func dearmour(text string) ([]byte, error) {
	_, rest, begins := strings.Cut(text, armourBegins)
	body, _, ends := strings.Cut(rest, armourEnds)
	if !begins || !ends {
		return nil, errors.New("the armour of the key is not whole: it begins with " + armourBegins + " and ends with " + armourEnds)
	}
	var data strings.Builder
	inBody := false
	for i, line := range strings.Split(strings.ReplaceAll(body, "\r\n", "\n"), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case i == 0:
		case !inBody && line == "":
			inBody = true
		case !inBody && !strings.Contains(line, ": "): // no empty line after the headers
			inBody = true
			data.WriteString(line)
		case inBody && !strings.HasPrefix(line, "="):
			data.WriteString(line)
		}
	}
	key, err := base64.StdEncoding.DecodeString(data.String())
	if err != nil || len(key) == 0 {
		return nil, errors.New("the armored text of the key is not base64")
	}
	return key, nil
}

// armour puts a key into one, with the sum that rpm insists on.
func armour(key []byte) []byte {
	text := base64.StdEncoding.EncodeToString(key)
	var b bytes.Buffer
	b.WriteString(armourBegins + "\n\n")
	for len(text) > 64 {
		b.WriteString(text[:64] + "\n")
		text = text[64:]
	}
	sum := crc24(key)
	b.WriteString(text + "\n=" + base64.StdEncoding.EncodeToString([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)}) + "\n" + armourEnds + "\n")
	return b.Bytes()
}

// crc24 is the sum of an armour (RFC 9580, 6.1).
func crc24(data []byte) uint32 {
	sum := uint32(0xb704ce)
	for _, c := range data {
		sum ^= uint32(c) << 16
		for range 8 {
			sum <<= 1
			if sum&0x1000000 != 0 {
				sum ^= 0x1864cfb
			}
		}
	}
	return sum & 0xffffff
}
