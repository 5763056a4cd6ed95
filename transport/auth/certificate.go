package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// A userCert is a user certificate that was read from a file (ssh-keygen(1),
// CERTIFICATES).
type userCert struct {
	name   string           // base name
	cert   *ssh.Certificate // nil if the file is missing
	named  bool             // the target names it
	remark string           // possible fault of the certificate
}

// certificates reads the certificates that t names, and those next to its keys. Both may be missing.
func (k *keyFiles) certificates(t transport.Target, files []keyFile, home string) ([]userCert, error) {
	var list []userCert
	for _, path := range t.Certificates {
		c, err := k.certificate(transport.ExpandHome(path, home))
		switch {
		case errors.Is(err, fs.ErrNotExist): // as with ssh
			c = userCert{remark: "no file " + filepath.Base(path)}
		case err != nil:
			return nil, err
		}
		c.named = true
		list = append(list, c)
	}
	for _, f := range files {
		if f.path == "" {
			continue
		}
		c, err := k.certificate(f.path + "-cert.pub")
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			list = append(list, c)
		}
	}
	return list, nil
}

// certificate reads a file once, and again when it has been replaced: certificates are renewed during a run.
func (k *keyFiles) certificate(path string) (userCert, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.certs[path]
	if now, err := os.Stat(path); ok && err == nil && (r.file == nil || !os.SameFile(r.file, now) || !r.file.ModTime().Equal(now.ModTime())) {
		ok = false
	}
	if !ok {
		r.cert, r.file, r.err = readCertificate(path)
		if k.certs == nil {
			k.certs = make(map[string]certificateResult)
		}
		k.certs[path] = r
	}
	return r.cert, r.err
}

type certificateResult struct {
	cert userCert
	file fs.FileInfo // file as it was read; nil if it could not be read
	err  error
}

func readCertificate(path string) (userCert, fs.FileInfo, error) {
	text, info, err := readSmall(path)
	if err != nil {
		return userCert{}, info, &transport.FileError{Setting: transport.SettingCertificate, Path: path, Err: err}
	}
	cert, err := parseCertificate(path, text, time.Now())
	return cert, info, err
}

// parseCertificate reads one line as ssh-keygen -s writes it. A certificate that is not valid at this time is offered,
// too: the host's clock decides.
func parseCertificate(path string, text []byte, now time.Time) (userCert, error) {
	fail := func(err error, hint string) (userCert, error) {
		return userCert{}, &transport.FileError{Setting: transport.SettingCertificate, Path: path, Err: err, Hint: hint}
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return fail(errors.New("it is not a certificate"), "name the file that ssh-keygen -s writes: KEY-cert.pub")
	}
	cert, ok := key.(*ssh.Certificate)
	switch {
	case !ok:
		return fail(errors.New("it is a public key, not a certificate"), "name the file that ssh-keygen -s writes: KEY-cert.pub")
	case cert.CertType != ssh.UserCert:
		return fail(errors.New("it is the certificate of a host, not of a user"), "sign the key without -h")
	}
	c := userCert{name: filepath.Base(path), cert: cert}
	// The zero time and the last one mean for ever (PROTOCOL.certkeys).
	at := uint64(now.Unix())
	switch {
	case cert.ValidBefore != ssh.CertTimeInfinity && at >= cert.ValidBefore:
		c.remark = fmt.Sprintf("%s was valid until %s", c.name, certTime(cert.ValidBefore))
	case at < cert.ValidAfter:
		c.remark = fmt.Sprintf("%s is not valid before %s", c.name, certTime(cert.ValidAfter))
	}
	return c, nil
}

func certTime(seconds uint64) string {
	return time.Unix(int64(min(seconds, 1<<40)), 0).UTC().Format(time.RFC3339)
}
