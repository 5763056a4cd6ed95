package transport

import (
	"bytes"
	"fmt"
	"os"

	"github.com/pkg/sftp"
)

// cacheDir is where the script looks for an uploaded build, from the home
// directory. The script has made it by then.
const cacheDir = ".cache/ccm-push/"

// upload writes the compressed build over SFTP to SHA256.gz, through a
// temporary name: a reader sees it whole or not at all. progress is called
// whenever something has been sent.
func (c *Client) upload(b Build, nonce string, progress func()) error {
	compressed, err := b.Compressed()
	if err != nil {
		return err
	}
	client, err := c.sftp()
	if err != nil {
		return fmt.Errorf("opening SFTP: %w", err)
	}
	defer client.Close()
	progress()
	temp := cacheDir + "." + nonce + ".gz"
	if err := write(client, temp, compressed, progress); err != nil {
		client.Remove(temp)
		return fmt.Errorf("writing %s: %w", temp, err)
	}
	if err := client.PosixRename(temp, cacheDir+b.SHA256+".gz"); err != nil {
		client.Remove(temp)
		return fmt.Errorf("renaming %s: %w", temp, err)
	}
	return nil
}

func write(client *sftp.Client, path string, content []byte, progress func()) (err error) {
	f, err := client.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	_, err = f.ReadFrom(&progressReader{r: bytes.NewReader(content), progress: progress})
	return err
}

// A progressReader tells when it is read from. With a bounded number of writes
// under way, reading means that earlier ones have been answered.
type progressReader struct {
	r        *bytes.Reader
	progress func()
}

func (p *progressReader) Read(b []byte) (int, error) {
	p.progress()
	return p.r.Read(b)
}

// Size lets pkg/sftp see how many writes there will be.
func (p *progressReader) Size() int64 { return p.r.Size() }

// sftp starts the subsystem in a session of its own, which ends with the client.
func (c *Client) sftp() (*sftp.Client, error) {
	session, err := c.ssh.NewSession()
	if err != nil {
		return nil, err
	}
	in, err := session.StdinPipe()
	if err != nil {
		session.Close()
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		session.Close()
		return nil, err
	}
	if err := session.RequestSubsystem("sftp"); err != nil {
		session.Close()
		return nil, err
	}
	client, err := sftp.NewClientPipe(out, in, sftp.UseConcurrentWrites(true))
	if err != nil {
		session.Close()
		return nil, err
	}
	return client, nil
}
