package judge

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Timeouts of goss.
const (
	addrTime = 500 * time.Millisecond
	dnsTime  = 500 * time.Millisecond
	httpTime = 5 * time.Second
)

func (l looker) addr() (finder, error) {
	network, address, ok := strings.Cut(l.rule.Name, "://")
	if !ok || !slices.Contains([]string{"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6"}, network) {
		return nil, errors.New("it is not of the form tcp://HOST:PORT")
	}
	d := net.Dialer{Timeout: l.limit(addrTime)}
	if text := l.rule.Text("local-address"); text != "" {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, fmt.Errorf("%q is not an IP address", text)
		}
		d.LocalAddr = &net.TCPAddr{IP: ip}
		if strings.HasPrefix(network, "udp") {
			d.LocalAddr = &net.UDPAddr{IP: ip}
		}
	}
	conn, err := d.DialContext(l.ctx, network, address)
	if err == nil {
		conn.Close()
	}
	return of(map[string]any{"reachable": err == nil}), nil
}

func (l looker) dns() (finder, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.limit(dnsTime))
	defer cancel()
	resolver := &net.Resolver{}
	if server := l.rule.Text("server"); server != "" {
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(server, "53")
		}
		resolver.PreferGo = true
		resolver.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}
	}
	addrs, err := resolver.LookupHost(ctx, l.rule.Name)
	if err != nil {
		return absent("resolvable"), nil
	}
	slices.Sort(addrs)
	return of(map[string]any{"resolvable": true, "addrs": addrs}), nil
}

func (l looker) http() (finder, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.limit(httpTime))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, cmp.Or(l.rule.Text("method"), http.MethodGet), l.rule.Name, strings.NewReader(l.rule.Text("request-body")))
	if err != nil {
		return nil, err
	}
	request.Header = l.rule.Headers()
	request.Host = request.Header.Get("Host")
	if user, password := l.rule.Text("username"), l.rule.Text("password"); user != "" || password != "" {
		request.SetBasicAuth(user, password)
	}
	transport, err := l.transport()
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		switch first := via[0]; {
		case l.rule.Is("no-follow-redirects"):
			return http.ErrUseLastResponse
		case len(via) >= maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case next.URL.Host != first.URL.Host, next.URL.Scheme != first.URL.Scheme && next.URL.Scheme != "https":
			for name := range first.Header { // they may be secrets of the first server
				next.Header.Del(name)
			}
		}
		return nil
	}}
	response, err := client.Do(request)
	if err != nil {
		return func(string) (any, error) { return nil, &noAnswer{err} }, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxText))
	if err != nil {
		return nil, err
	}
	var headers []string
	for name, values := range response.Header {
		for _, value := range values {
			headers = append(headers, name+": "+value)
		}
	}
	slices.Sort(headers)
	return of(map[string]any{"status": float64(response.StatusCode), "body": string(body), "headers": strings.Join(headers, "\n")}), nil
}

const maxRedirects = 10 // as in net/http

// transport returns the proxy and TLS settings of an http rule. It reads files of the host.
func (l looker) transport() (*http.Transport, error) {
	t := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: l.rule.Is("allow-insecure")},
	}
	switch proxy, err := l.rule.Proxy(); {
	case err != nil:
		return nil, err
	case proxy != nil:
		t.Proxy = http.ProxyURL(proxy)
	}
	if file := l.rule.Text("ca-file"); file != "" {
		text, err := l.read(file)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(text)) {
			return nil, fmt.Errorf("%s has no certificate in PEM", file)
		}
	}
	if file := l.rule.Text("cert-file"); file != "" {
		certificate, err := l.read(file)
		if err != nil {
			return nil, err
		}
		key, err := l.read(l.rule.Text("key-file"))
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// A noAnswer is the reason why a server has not answered. It is an [errUnknown].
type noAnswer struct{ err error }

func (n *noAnswer) Error() string { return "no answer (" + n.cause() + ")" }

func (n *noAnswer) Is(target error) bool { return target == errUnknown }

// cause omits the parts that the rule contains already: method, URL and address.
func (n *noAnswer) cause() string {
	err := n.err
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if failed.Timeout() {
			return "it took too long"
		}
		err = failed.Err
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("%q: %s", dns.Name, dns.Err)
	}
	return err.Error()
}

func (l looker) netInterface() (finder, error) {
	i, err := net.InterfaceByName(l.rule.Name)
	if err != nil {
		return absent("exists"), nil
	}
	addrs, err := i.Addrs()
	if err != nil {
		return nil, err
	}
	list := []string{}
	for _, a := range addrs {
		list = append(list, a.String())
	}
	slices.Sort(list)
	return of(map[string]any{"exists": true, "mtu": float64(i.MTU), "addrs": list}), nil
}

// port reads the kernel's tables of sockets (proc_net(5)).
func (l looker) port() (finder, error) {
	network, number, ok := strings.Cut(l.rule.Name, ":")
	if !ok {
		network, number = "tcp", l.rule.Name
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || !slices.Contains([]string{"tcp", "tcp6", "udp", "udp6"}, network) {
		return nil, errors.New("it is not of the form tcp:PORT")
	}
	text, err := l.read("/proc/net/" + network)
	if err != nil {
		return nil, err
	}
	addrs := listening(text, strings.HasPrefix(network, "tcp"), port)
	return of(map[string]any{"listening": len(addrs) > 0, "ip": addrs}), nil
}

// listening finds the addresses on which a port is listened at.
func listening(table string, tcp bool, port uint64) []string {
	const listen, unconnected = "0A", "07" // states, of TCP and UDP
	addrs := []string{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || tcp && fields[3] != listen || !tcp && fields[3] != unconnected {
			continue
		}
		address, number, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(number, 16, 16); err != nil || n != port {
			continue
		}
		if ip := kernelIP(address); ip != nil && !slices.Contains(addrs, ip.String()) {
			addrs = append(addrs, ip.String())
		}
	}
	slices.Sort(addrs)
	return addrs
}

// kernelIP reads an address as the kernel prints it: in words of four bytes, each in the byte order of a little-endian
// machine. It returns nil for an invalid text.
func kernelIP(text string) net.IP {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != net.IPv4len && len(b) != net.IPv6len {
		return nil
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	return b
}
