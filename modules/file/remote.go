package file

import (
	"context"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// The values of checksum and fetch.
const (
	unchecked = "none"
	byHost    = "host"
)

// Sizes of downloads, in MiB.
const (
	defaultMaxSize = 4 << 10
	largestMaxSize = 1 << 20
)

// A getter downloads a file, by way of one in a directory.
type getter func(ctx context.Context, h modules.Host, d modules.Download, dir string) (io.ReadCloser, error)

// remote reports whether the content is on a web server.
func (f *File) remote() bool { return modules.IsURL(f.Source) }

// hasContent reports whether the resource sets the content.
func (f *File) hasContent() bool { return !f.Content.IsZero() || f.remote() }

// digestWanted is the SHA-256 of the desired content, in lower-case hex.
func (f *File) digestWanted() string {
	if f.Checksum != "" {
		return strings.ToLower(strings.TrimPrefix(f.Checksum, "sha256:"))
	}
	return f.Content.SHA256()
}

// Requires implements [modules.Requirer]: the lean host program has no HTTP client.
func (f *File) Requires() modules.Requirements {
	switch {
	case !f.remote() || f.Ensure == absent || f.Ensure == directory:
		return modules.Requirements{}
	case f.Fetch == byHost:
		return modules.Requirements{FullProgram: true}
	}
	return modules.Requirements{Downloads: []string{"source", "checksum", "max_size"}}
}

func (f *File) download() modules.Download {
	d := modules.Download{URL: f.Source, MaxSize: int64(f.MaxSize) << 20}
	if f.MaxSize == 0 {
		d.MaxSize = defaultMaxSize << 20
	}
	if f.Checksum != unchecked {
		d.SHA256 = f.digestWanted()
	}
	return d
}

// prepareRemote makes the controller offer the server's content. Without a checksum the controller downloads the
// content at once, since it cannot know whether a host already has it.
func (f *File) prepareRemote(ctx context.Context, src modules.Source) error {
	if f.Fetch == byHost || f.Validate() != nil {
		return nil
	}
	get := src.Download
	if f.Checksum == unchecked {
		get = src.Downloaded
	}
	if get == nil {
		return &modules.PropertyError{Path: "source", Msg: "no controller to download the file", Hint: "write fetch: host, and a checksum"}
	}
	content, err := get(ctx, f.download())
	if err != nil {
		return modules.AboutProperty("source", err)
	}
	f.Content, f.Source, f.MaxSize, f.Fetch = content, "", 0, ""
	if f.Checksum == unchecked {
		f.Checksum = ""
	}
	return nil
}

// open returns the content to write.
func (f *File) open(ctx context.Context, h modules.Host, plan modules.Plan) (io.ReadCloser, error) {
	if !f.remote() {
		return h.Contents.Open(ctx, plan.Needs[0])
	}
	return f.fetch(ctx, h, f.download(), filepath.Dir(f.Name))
}

func (f *File) validateRemote() error {
	if !f.remote() {
		for _, p := range []struct {
			name  string
			given bool
		}{{"checksum", f.Checksum != "" && !f.Content.Promised()}, {"fetch", f.Fetch != ""}, {"max_size", f.MaxSize != 0}} {
			switch {
			case p.given && f.Source != "": // the source may turn out to be a URL
				return &modules.PropertyError{Path: "source", Msg: "'" + p.name + "' is about a source that is a URL, and this one is a file", Hint: "remove " + strconv.Quote(p.name) + ", or write source: https://…"}
			case p.given:
				return &modules.PropertyError{Path: p.name, Msg: "'" + p.name + "' is about a source that is a URL", Hint: "write source: https://…"}
			}
		}
		return nil
	}
	u, err := url.Parse(f.Source)
	switch {
	case err != nil || u.Hostname() == "": // the text of err has all of it
		return &modules.PropertyError{Path: "source", Msg: `"source" is not a valid URL`, Hint: "write https://host/path, with %XX for special characters"}
	case u.User != nil:
		return &modules.PropertyError{Path: "source", Msg: "a source may not have a user or a password", Hint: `an archive has the properties "username", "password" and "headers"`}
	case f.Checksum == "":
		return &modules.PropertyError{Path: "source", Msg: "a download needs a checksum", Hint: `write checksum: "sha256:…", as sha256sum prints it, or checksum: none`}
	case f.Checksum == unchecked && !strings.EqualFold(u.Scheme, "https"):
		return &modules.PropertyError{Path: "checksum", Msg: "a download over http:// can be changed on the way", Hint: `write https://, or checksum: "sha256:…"`}
	case f.Checksum == unchecked && f.Fetch == byHost:
		return &modules.PropertyError{Path: "checksum", Msg: "with 'fetch: host' only a checksum shows whether the file is the right one", Hint: `write checksum: "sha256:…", or fetch: controller`}
	case f.Checksum != unchecked && !modules.IsDigest(f.digestWanted()):
		return &modules.PropertyError{Path: "checksum", Msg: `"checksum" is neither a SHA-256 nor none`, Hint: `write checksum: "sha256:…", with 64 hexadecimal digits`}
	case f.MaxSize < 0 || f.MaxSize > largestMaxSize:
		return modules.Errorf("max_size", `"max_size" must be from 0 to %[2]d, not %[1]d`, f.MaxSize, largestMaxSize)
	}
	return nil
}
