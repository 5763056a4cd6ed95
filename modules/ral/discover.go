package ral

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// dataDirs are the default folders of libral on a host. Their subfolders providers/ contain the providers.
var dataDirs = []string{"/usr/local/share/libral", "/usr/share/libral"}

// dataDirsVariable is the variable that names additional folders, which are read first.
const dataDirsVariable = "RALSH_DATA_DIR"

const (
	providersDir = "providers"
	suffix       = ".prov"
	metaSuffix   = ".yaml"
	// maxProviders bounds the providers of one directory.
	maxProviders = 500
)

// survey looks for providers: the play's, or the host's.
type survey struct {
	r       *Ral
	h       modules.Host
	all     []*provider // each full name once per directory
	ignored []string    // unusable files, with the reasons
}

// ofPlay adds the providers of the play's folder resources/.
func (v *survey) ofPlay(ctx context.Context) error {
	p := v.r.Play
	if p != nil && len(p.Found)+len(p.Undescribed) == 0 || v.h.Resources == nil {
		return nil
	}
	dir, err := v.h.Resources(ctx)
	if err != nil || dir == "" {
		return err
	}
	if p == nil { // the resource has not been prepared
		v.directory(ctx, dir, "resources")
		v.directory(ctx, path.Join(dir, providersDir), "resources/"+providersDir)
		return nil
	}
	for _, f := range p.Found {
		source := path.Join("resources", f.File)
		file, err := v.executable(path.Join(dir, f.File))
		if err != nil {
			v.ignore(source, err)
			continue
		}
		m := f.metadata
		v.all = append(v.all, &provider{metadata: &m, file: file, source: source})
	}
	for _, name := range p.Undescribed {
		v.file(ctx, path.Join(dir, name), path.Join("resources", name))
	}
	return nil
}

// ofHost adds the providers in the data directories of the host.
func (v *survey) ofHost(ctx context.Context) {
	for _, dir := range append(process.Dirs(os.Getenv(dataDirsVariable)), dataDirs...) {
		dir = path.Join(dir, providersDir)
		before := slices.Clone(v.all)
		v.directory(ctx, dir, dir)
		v.all = slices.DeleteFunc(v.all, func(p *provider) bool { // an earlier directory wins
			return !slices.Contains(before, p) && slices.ContainsFunc(before, func(q *provider) bool { return q.full() == p.full() })
		})
	}
}

// directory adds the providers of one directory, which need not be there.
func (v *survey) directory(ctx context.Context, dir, source string) {
	names, err := v.h.Files.List(dir)
	if err == nil {
		err = process.Safe(v.h.Files, os.Geteuid(), dir)
	}
	if err != nil {
		if !modules.NotThere(err) {
			v.ignore(source, err)
		}
		return
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, suffix) || name == suffix })
	if len(names) > maxProviders {
		v.ignore(source, fmt.Errorf("there are more than %d providers", maxProviders))
		names = names[:maxProviders]
	}
	slices.Sort(names)
	for _, name := range names {
		v.file(ctx, path.Join(dir, name), path.Join(source, name))
	}
}

func (v *survey) ignore(source string, err error) {
	v.ignored = append(v.ignored, fmt.Sprintf("%s: %v", source, err))
}

// file adds the provider in one file.
func (v *survey) file(ctx context.Context, name, source string) {
	file, err := v.executable(name)
	if err != nil {
		v.ignore(source, err)
		return
	}
	p := &provider{file: file, source: source}
	if p.limit, err = v.r.limit(); err == nil {
		p.metadata, err = v.metadata(ctx, p, name)
	}
	if err != nil {
		v.ignore(source, err)
		return
	}
	v.all = append(v.all, p)
}

var errNotExecutable = errors.New("not executable")

// executable returns the path of a provider without symbolic links.
func (v *survey) executable(name string) (string, error) {
	at, _, err := modules.Resolve(v.h.Files, name)
	if err != nil {
		return "", err
	}
	info, err := v.h.Files.Stat(at)
	switch {
	case err != nil:
		return "", err
	case info.Kind != modules.Regular:
		return "", errors.New("not a file")
	case info.Mode&0o111 == 0:
		return "", errNotExecutable
	}
	return at, process.Safe(v.h.Files, os.Geteuid(), name)
}

// metadata reads the metadata file next to a provider, or runs describe if there is none.
func (v *survey) metadata(ctx context.Context, p *provider, name string) (*metadata, error) {
	stem := strings.TrimSuffix(name, suffix)
	text, err := process.ReadText(v.h.Files, stem+metaSuffix, modules.MaxParse)
	switch {
	case errors.Is(err, process.ErrTooLong):
		return nil, fmt.Errorf("its metadata have more than %d KiB", modules.MaxParse>>10)
	case err == nil:
		return v.read(ctx, "yaml\x00"+stem+"\x00"+text, path.Base(stem), text)
	}
	digest, err := v.h.Files.Digest(p.file)
	if err != nil {
		return nil, err
	}
	key := "describe\x00" + p.file + "\x00" + digest
	if m, known := v.r.described.Get(key); known {
		return m, nil
	}
	p.metadata = &metadata{Type: "?", Name: path.Base(stem)} // for errors
	said, failed := p.call(ctx, v.h, v.h.Commands.Probe, "describe", []string{"ral_action=describe"}, "")
	if failed != nil {
		return nil, failed
	}
	m, err := v.read(ctx, key, path.Base(stem), said.Stdout.Text)
	if first := process.First(said.Stdout.Text); err != nil && first != "" {
		err = fmt.Errorf("%w; what describe printed begins with %s", err, process.Quote(first))
	}
	return m, err
}

// read parses a document as metadata, once per key.
func (v *survey) read(ctx context.Context, key, name, text string) (*metadata, error) {
	if m, known := v.r.described.Get(key); known {
		return m, nil
	}
	doc, err := v.parse(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("its metadata: %w", err)
	}
	m, err := parseMetadata(doc, name)
	if err != nil {
		return nil, fmt.Errorf("its metadata: %w", err)
	}
	if !m.Suitable.Never { // an unsuitable provider may become suitable
		v.r.described.Put(key, m)
	}
	return m, nil
}

// parse converts a YAML document to JSON; it may be JSON already.
func (v *survey) parse(ctx context.Context, text string) (json.RawMessage, error) {
	switch {
	case json.Valid([]byte(text)):
		return json.RawMessage(text), nil
	case len(text) > modules.MaxParse:
		return nil, fmt.Errorf("they have more than %d KiB", modules.MaxParse>>10)
	case v.h.YAML == nil:
		return nil, errors.New("they are YAML, which only a controller reads")
	}
	return v.h.YAML(ctx, text)
}
