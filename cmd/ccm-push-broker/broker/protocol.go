package broker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a line and of a payload, in bytes. The server has a lower limit for payloads (max_payload).
const (
	maxLine    = 64 << 10
	maxPayload = 64 << 20
)

// A frame is one message of the protocol of NATS, such as PUB with its payload. The filter never forwards the
// bytes that it read: it encodes each frame again, so the server cannot read them differently.
type frame struct {
	verb    string   // upper case
	args    []string // the words of the line, without the sizes of PUB, HPUB, MSG and HMSG
	text    string   // the rest of the line of CONNECT, INFO and -ERR
	headers []header
	data    []byte
}

// header is one header of a message. Its name keeps its case: the server compares it as it is.
type header struct{ name, value string }

// carries returns how many words a line has before the sizes, at least and at most; ok is false for frames without a payload.
func carries(verb string) (least, most int, headers, ok bool) {
	switch verb {
	case "PUB":
		return 1, 2, false, true
	case "HPUB":
		return 1, 2, true, true
	case "MSG":
		return 2, 3, false, true
	case "HMSG":
		return 2, 3, true, true
	}
	return 0, 0, false, false
}

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", fmt.Errorf("a line is longer than %d bytes", maxLine)
		case err == nil:
			text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
			if strings.ContainsAny(text, "\r\x00") {
				return "", errors.New("a line has a control character in it")
			}
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// readFrame reads the next frame.
func readFrame(r *bufio.Reader) (*frame, error) {
	line, err := readLine(r)
	if err != nil {
		return nil, err
	}
	verb, rest := line, ""
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		verb, rest = line[:i], line[i+1:]
	}
	f := &frame{verb: strings.ToUpper(verb)}
	switch f.verb {
	case "CONNECT", "INFO", "-ERR":
		f.text = strings.TrimSpace(rest)
		return f, nil
	}
	f.args = strings.Fields(rest)
	least, most, headers, ok := carries(f.verb)
	if !ok {
		return f, nil
	}
	sizes := 1
	if headers {
		sizes = 2
	}
	words := len(f.args) - sizes
	if words < least || words > most {
		return nil, fmt.Errorf("%s has %d words", f.verb, len(f.args))
	}
	var head, total int
	if total, err = size(f.args[len(f.args)-1]); err == nil && headers {
		head, err = size(f.args[words])
	}
	if err != nil {
		return nil, err
	}
	if head > total {
		return nil, fmt.Errorf("headers of %d bytes in a message of %d", head, total)
	}
	f.args = f.args[:words]
	payload := make([]byte, total+2)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, err
	}
	if string(payload[total:]) != "\r\n" {
		return nil, errors.New("a payload is longer than its size")
	}
	if headers {
		if f.headers, err = readHeaders(payload[:head]); err != nil {
			return nil, err
		}
	}
	f.data = payload[head:total]
	return f, nil
}

func size(word string) (int, error) {
	n, err := strconv.ParseUint(word, 10, 31)
	if err != nil || n > maxPayload {
		return 0, fmt.Errorf("%q is not a size up to %d", word, maxPayload)
	}
	return int(n), nil
}

const headerVersion = "NATS/1.0"

// readHeaders reads the headers of a message. The text after the version, the status of a server's answer, is kept as a
// header without a name.
func readHeaders(text []byte) ([]header, error) {
	lines, ok := strings.CutSuffix(string(text), "\r\n\r\n")
	if !ok {
		return nil, errors.New("headers without an end")
	}
	all := strings.Split(lines, "\r\n")
	status, ok := strings.CutPrefix(all[0], headerVersion)
	if !ok {
		return nil, errors.New("headers without a version")
	}
	var list []header
	if status != "" {
		list = append(list, header{"", status})
	}
	for _, line := range all[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(line, "\r\n\x00") || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("%q is not a header", line)
		}
		list = append(list, header{name, strings.TrimSpace(value)})
	}
	return list, nil
}

// write writes the frame. Nothing in it has a line break: readFrame has split it there, and readHeaders refuses it.
func (f *frame) write(w *bufio.Writer) error {
	line := f.verb
	if f.text != "" {
		line += " " + f.text
	}
	for _, word := range f.args {
		line += " " + word
	}
	_, _, _, payload := carries(f.verb)
	if !payload {
		_, err := w.WriteString(line + "\r\n")
		return err
	}
	var head string
	if f.headers != nil {
		var text strings.Builder
		rest := f.headers
		text.WriteString(headerVersion)
		if rest[0].name == "" {
			text.WriteString(rest[0].value)
			rest = rest[1:]
		}
		text.WriteString("\r\n")
		for _, h := range rest {
			text.WriteString(h.name + ": " + h.value + "\r\n")
		}
		text.WriteString("\r\n")
		head = text.String()
	}
	if strings.HasPrefix(f.verb, "H") {
		if f.headers == nil {
			head = headerVersion + "\r\n\r\n"
		}
		line += " " + strconv.Itoa(len(head))
	}
	_, err := w.WriteString(line + " " + strconv.Itoa(len(head)+len(f.data)) + "\r\n" + head)
	if err == nil {
		_, err = w.Write(f.data)
	}
	if err == nil {
		_, err = w.WriteString("\r\n")
	}
	return err
}
