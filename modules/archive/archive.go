package archive

import (
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/archive/format"
)

// An Archive is a file from a web server and its unpacked contents. It behaves like CCM's archive resource, with
// intended exceptions:
//   - it unpacks by itself, and refuses archives that would write elsewhere;
//   - unpacked files belong to the user of this process, not to the packer's;
//   - the archive is unpacked before it is put in place, so that the next run does not take an archive that cannot be
//     unpacked for done;
//   - with cleanup, a leftover archive is removed;
//   - an archive whose owner, group or mode is wrong gets new ones, and is not downloaded again;
//   - an interrupted download is resumed, and may take as long as data arrives.
type Archive struct {
	Name          string            `json:"name" required:"true" looks:"^/" doc:"absolute path of the archive file, with the file extension of url: .tar, .tar.gz, .tgz, .tar.xz, .tar.zst or .zip"`
	Ensure        string            `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"present: downloaded and unpacked; absent: the archive file is removed, unpacked files stay"`
	URL           string            `json:"url,omitempty" secret:"url" looks:"^https?://" doc:"URL of the archive (http or https); required unless absent"`
	Headers       map[string]string `json:"headers,omitempty" secret:"true" doc:"request headers, such as Authorization; sent only to the server of url"`
	Username      string            `json:"username,omitempty" doc:"user for basic authentication"`
	Password      string            `json:"password,omitempty" secret:"true" doc:"password for basic authentication"`
	Checksum      string            `json:"checksum,omitempty" looks:"^(sha256:)?[0-9a-fA-F]{64}$" doc:"SHA-256 of the archive in hex"`
	ExtractParent string            `json:"extract_parent,omitempty" looks:"^/" doc:"directory to unpack into; created with mode 0755 if missing"`
	Creates       string            `json:"creates,omitempty" looks:"^/" doc:"path that unpacking creates; while it is missing, the archive is downloaded and unpacked"`
	Cleanup       bool              `json:"cleanup,omitempty" doc:"remove the archive file after unpacking; needs extract_parent and creates"`
	Owner         string            `json:"owner,omitempty" doc:"name or id of the owner of the archive file; default: unchanged; new file: user of the play"`
	Group         string            `json:"group,omitempty" doc:"name or id of its group; default: as for owner"`
	Mode          string            `json:"mode,omitempty" default:"0600" numbers:"refuse" looks:"^(0[oO])?0?[0-7]{3}$" doc:"permissions of the archive file in octal"`
	Fetch         string            `json:"fetch,omitempty" enum:"host,controller" default:"host" doc:"where to download; controller: once, for hosts that need the file"`
	MaxSize       int               `json:"max_size,omitempty" doc:"maximum size of the archive, and of the unpacked files, in MiB; default: 4096, and 250 times the archive for unpacked files"`

	// Content is the archive, if the controller pushes it.
	Content modules.Content `json:"content,omitzero" wire:"only"`

	tools tools
}

// The values of ensure and fetch.
const (
	present      = "present"
	absent       = "absent"
	byController = "controller"
)

// Type is the entry of the registry.
func Type() modules.Type { return newType(ownTools()) }

func newType(t tools) modules.Type {
	return modules.Type{
		Name: "archive",
		Doc:  "Downloads an archive over HTTP and unpacks it. The download is verified by checksum; nothing is unpacked outside of extract_parent.",
		New:  func() modules.Resource { return &Archive{tools: t} },
	}
}

// Requires implements [modules.Requirer]: the lean host program can neither download nor unpack. It can put an archive
// in place that the controller has downloaded.
func (a *Archive) Requires() modules.Requirements {
	if a.Ensure == absent {
		return modules.Requirements{}
	}
	if a.Fetch != byController {
		return modules.Requirements{FullProgram: true}
	}
	return modules.Requirements{
		FullProgram: a.ExtractParent != "",
		Downloads:   []string{"url", "headers", "username", "password", "checksum", "max_size"},
	}
}

// Prepare implements [modules.Preparer]: hosts get only the properties that they need. It leaves invalid properties for
// Validate to report.
func (a *Archive) Prepare(ctx context.Context, src modules.Source) error {
	if a.Ensure == absent {
		a.URL, a.Headers, a.Username, a.Password = "", nil, "", ""
		return nil
	}
	if a.Fetch != byController || a.Validate() != nil {
		return nil
	}
	if src.Download == nil {
		return &modules.PropertyError{Path: "fetch", Msg: "no controller to download the archive", Hint: `remove "fetch"`}
	}
	content, err := src.Download(ctx, a.download())
	if err != nil {
		return modules.Errorf("url", "%v", err)
	}
	a.Content = content
	a.URL, a.Headers, a.Username, a.Password = modules.ShownURL(a.URL), nil, "", ""
	return nil
}

// download is the URL to download, with its options.
func (a *Archive) download() modules.Download {
	d := modules.Download{
		URL: a.URL, Headers: a.Headers, Username: a.Username, Password: a.Password,
		SHA256: a.digest(), MaxSize: a.maxSize(),
	}
	if u, err := url.Parse(a.URL); err == nil && u.User != nil {
		d.Username = u.User.Username()
		d.Password, _ = u.User.Password()
		u.User = nil
		d.URL = u.String()
	}
	return d
}

// digest returns the checksum in the form for comparisons, or "" without a checksum.
func (a *Archive) digest() string {
	return strings.ToLower(strings.TrimPrefix(a.Checksum, "sha256:"))
}

// Sizes that are usual, in MiB, and how far an archive is usually compressed.
const (
	defaultMaxSize = 4 << 10
	largestMaxSize = 1 << 20
	usualRatio     = 250
)

// maxSize is in bytes.
func (a *Archive) maxSize() int64 {
	if a.MaxSize == 0 {
		return defaultMaxSize << 20
	}
	return int64(a.MaxSize) << 20
}

// Validate implements [modules.Resource].
func (a *Archive) Validate() error {
	errs := []error{modules.ValidatePath("name", a.Name)}
	if a.Ensure == absent {
		return errors.Join(errs...)
	}
	if a.Name != "" && format.Of(path.Base(a.Name)) == "" {
		errs = append(errs, modules.Errorf("name", `"name" must end in %s`, format.Endings))
	}
	errs = append(errs, a.validateURL(), a.validateHeaders(), a.validateLogin(), a.validateChecksum(),
		validatePlace("extract_parent", a.ExtractParent), validatePlace("creates", a.Creates), a.validateCleanup())
	if a.Mode != "" {
		_, err := modules.ParseMode(a.Mode)
		errs = append(errs, err)
	}
	if a.MaxSize < 0 || a.MaxSize > largestMaxSize {
		errs = append(errs, modules.Errorf("max_size", `"max_size" must be from 0 to %[2]d, not %[1]d`, a.MaxSize, largestMaxSize))
	}
	return errors.Join(errs...)
}

func (a *Archive) validateURL() error {
	if a.URL == "" {
		return modules.Errorf("url", `"url" cannot be empty`)
	}
	u, err := url.Parse(a.URL)
	switch {
	case err != nil: // the text of err has all of it
		return &modules.PropertyError{Path: "url", Msg: `"url" is not valid`, Hint: "write https://host/path, with %XX for special characters"}
	case u.Scheme == "" || u.Hostname() == "":
		return modules.Errorf("url", `"url" must be absolute (include scheme like http:// or https://)`)
	case u.Scheme != "http" && u.Scheme != "https":
		return &modules.PropertyError{Path: "url", Msg: `"url" has the scheme ` + u.Scheme + ", which is not supported", Hint: "write http:// or https://"}
	case path.Base(u.Path) == "/" || path.Base(u.Path) == "." || strings.HasSuffix(u.Path, "/"):
		return modules.Errorf("url", `"url" must have a filename in the path`)
	}
	is := format.Of(path.Base(u.Path))
	if is == "" {
		return modules.Errorf("url", `the filename in "url" must end in %s`, format.Endings)
	}
	if name := format.Of(path.Base(a.Name)); name != "" && name != is {
		return modules.Errorf("url", `"url" and "name" must have the same archive type: "url" is %s, "name" is %s`, is, name)
	}
	if _, twice := u.User.Password(); (twice || u.User.Username() != "") && (a.Username != "" || a.Password != "") {
		return &modules.PropertyError{Path: "url", Msg: `"url" contains a user name, but "username" or "password" is also set`, Hint: `remove the user name from "url", or remove "username" and "password"`}
	}
	return nil
}

// isHeaderName takes a token of RFC 9110, 5.6.2.
func isHeaderName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+.^_`|~-"
	return s != "" && strings.Trim(s, letters) == ""
}

// ownHeaders are the headers that a download sets by itself.
var ownHeaders = []string{"Host", "Range", "If-Range", "Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding"}

func (a *Archive) validateHeaders() error {
	for name, value := range a.Headers {
		switch {
		case !isHeaderName(name):
			return modules.Errorf("headers", "headers: %q is not a header name", name)
		case strings.ContainsAny(value, "\r\n\x00"):
			return modules.Errorf("headers", "headers: the value of %q is more than one line", name)
		case slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.EqualFold(own, name) }):
			return modules.Errorf("headers", "headers: %q cannot be set", name)
		}
	}
	return nil
}

func (a *Archive) validateLogin() error {
	switch {
	case a.Username != "" && a.Password == "":
		return modules.Errorf("username", `"username" needs a password`)
	case a.Username == "" && a.Password != "":
		return modules.Errorf("password", `"password" needs a user name`)
	}
	return nil
}

func (a *Archive) validateChecksum() error {
	digest := a.digest()
	if a.Checksum == "" || len(digest) == 64 && strings.Trim(digest, "0123456789abcdef") == "" {
		return nil
	}
	return &modules.PropertyError{Path: "checksum", Msg: `"checksum" is not a SHA-256 in hex`, Hint: "write 64 hex digits, as sha256sum prints them"}
}

func (a *Archive) validateCleanup() error {
	switch {
	case !a.Cleanup:
		return nil
	case a.ExtractParent == "":
		return modules.Errorf("cleanup", `"cleanup" requires "extract_parent" to be set`)
	case a.Creates == "":
		return modules.Errorf("cleanup", `"cleanup" requires "creates" to be set`)
	}
	return nil
}

func validatePlace(property, value string) error {
	if value != "" && !path.IsAbs(value) {
		return modules.Errorf(property, "%q must be an absolute path", property)
	}
	return modules.ValidatePath(property, value)
}
