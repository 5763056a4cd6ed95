package start

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pkg/sftp"

	"github.com/ccm-push/ccm-push/modules/excerpt"

	"github.com/ccm-push/ccm-push/transport"
)

// cacheDir is the script's directory of builds, relative to the home directory.
const cacheDir = ".cache/ccm-push"

// uploadDir returns the script's directory that dir names, for SFTP, which begins in the home directory. The host can
// only choose among directories that the script may have created.
func uploadDir(dir string) (string, bool) {
	for _, temp := range []string{"/var/tmp/ccm-push-", "/tmp/ccm-push-"} {
		if uid, ok := strings.CutPrefix(dir, temp); ok && uid != "" && consists(uid, "0123456789") {
			return dir, true
		}
	}
	return cacheDir, strings.HasSuffix(dir, "/"+cacheDir)
}

// upload puts a build, unpacked, into a directory of the script on a host that cannot
// unpack it. progress is called whenever something has moved. The error wraps
// [transport.ErrNoSpace] when the disk is full, [transport.ErrLost] when the connection has ended, and else
// ErrInstall if the host is to blame.
func upload(c *transport.Client, dir string, b Build, nonce string, progress func()) error {
	compressed, err := b.Compressed()
	if err != nil {
		return err
	}
	program, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return err
	}
	client, err := openSFTP(c)
	if err != nil {
		return uploadError(c, fmt.Errorf("opening SFTP: %w", err))
	}
	defer client.Close()
	progress()
	return uploadError(c, put(client, dir, b, nonce, program, progress))
}

// put writes a program under a temporary name, which it changes when all of it has been
// read back with the right hash.
func put(client *sftp.Client, dir string, b Build, nonce string, program io.Reader, progress func()) (err error) {
	temp := dir + "/." + nonce
	// pkg/sftp takes a success without data for the answer, and continues with nil: so do Stat and Remove.
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("writing %s: unexpected answer of the SFTP server", temp)
		}
	}()
	f, err := client.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err == nil && f == nil { // a success without a handle
		err = errors.New("no answer")
	}
	if err != nil {
		return fmt.Errorf("making %s: %w", temp, err)
	}
	err = fill(f, program, b, progress)
	if err != nil && isFull(client, temp) {
		err = transport.ErrNoSpace
	}
	// A file that is open for writing cannot be executed.
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = client.PosixRename(temp, dir+"/"+b.SHA256)
	}
	if err != nil {
		client.Remove(temp)
		return fmt.Errorf("writing %s: %w", temp, err)
	}
	return nil
}

// fill writes a program to a new file and reads it back. Only its owner can do anything
// with it before there is something in it.
func fill(f *sftp.File, program io.Reader, b Build, progress func()) error {
	if err := f.Chmod(0o700); err != nil {
		return err
	}
	if _, err := f.ReadFrom(sizedReader{movingReader{program, progress}, b.Size}); err != nil {
		return err
	}
	back := movingReader{io.NewSectionReader(f, 0, b.Size+1), progress}
	sum := sha256.New()
	// Many reads are under way for a buffer as large as that.
	n, err := io.CopyBuffer(sum, back, make([]byte, 1<<20))
	if err != nil {
		return fmt.Errorf("reading it back: %w", err)
	}
	if n != b.Size || hex.EncodeToString(sum.Sum(nil)) != b.SHA256 {
		return errors.New("it reads back with another SHA-256")
	}
	return nil
}

// isFull reports whether there is no more room where a file is: a failed write does not
// say why (draft-ietf-secsh-filexfer-02, 7).
func isFull(client *sftp.Client, path string) bool {
	const little = 64 << 10 // bytes; more than one write has
	room, err := client.StatVFS(path)
	return err == nil && room != nil && room.Bavail*room.Frsize < little
}

// uploadError explains why SFTP has failed. The end of the subsystem looks like the end of the connection, so
// uploadError checks the connection.
func uploadError(c *transport.Client, err error) error {
	if err == nil || errors.Is(err, transport.ErrNoSpace) {
		return err
	}
	text := err.Error() // it may quote the host, at length
	if errors.Is(err, sftp.ErrSSHFxConnectionLost) || transport.IsHangUp(err) {
		if gone := c.Ping(); gone != nil {
			return gone
		}
		text += ": the SFTP server has ended"
	}
	return fmt.Errorf("%w: gzip is missing on the host, and the upload by SFTP failed: %s", transport.ErrInstall, excerpt.Of(text, 2*transport.MaxQuoted))
}

// A sizedReader lets pkg/sftp see how many writes there will be. With a bounded number
// of them under way, reading means that earlier ones have been answered.
type sizedReader struct {
	movingReader
	size int64 // in bytes
}

func (s sizedReader) Size() int64 { return s.size }

// openSFTP starts the subsystem in a session of its own, which ends with the client.
func openSFTP(c *transport.Client) (*sftp.Client, error) {
	subsystem, err := c.Subsystem("sftp")
	if err != nil {
		return nil, err
	}
	client, err := sftp.NewClientPipe(subsystem.Stdout, subsystem.Stdin, sftp.UseConcurrentWrites(true))
	if err != nil {
		subsystem.Close()
		return nil, err
	}
	return client, nil
}
