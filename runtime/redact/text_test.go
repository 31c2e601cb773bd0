package redact_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

const mask = redact.Mask

const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

func TestNames(t *testing.T) {
	for name, secret := range map[string]bool{
		"TOKEN": true, "github_token": true, "tokenize": true, "MONKEY": true, "apiKey": true,
		"API_KEY": true, "x-api-key": true,
		"clientSecret": true, "db.password": true, "Passwd": true, "ssh_passphrase": true,
		"aws_credentials": true, "CONNECTION_STRING": true,
		"connection-string": true, "connection string": true, "ConnectionString": true,
		"private_id": true, "Authorization": true, "author": true,
		"SENTRY_DSN": true, "Set-Cookie": true, "Mcp-Session-Id": true, "MYSQL_PWD": true,
		"mysql-pwd": true, "PWD_FILE": true, "DB_PASS": true,
		"dbPwd": true, "pwdFile": true, "DbPass": true, "userPwdFile": true, "pass.phrase": true,
		strings.Repeat("x", 100) + "key": true, "keys": true,

		"": false, "PWD": false, "pwd": false, "OLDPWD": false, "oldpwd": false, "Pwd": false,
		"Pass": false, "passPort2": true, "bypassed": false, "compassRose": false, "OLD_PWD": false,
		"old-pwd": false, "OLD_PWDS": true, "Dbpwd": true, "PGPWD": true, "TOKEN_OLDPWD": true,
		"X-Oldpwd": false, "PASS": false, "passed": false, "BYPASS": false, "_": false,
		"principal": false, "tool": false, "role": false, "missing": false, "request_id": false,
		"reason": false, "error": false,
		"DATABASE_URL": false, "path": false, "PATH": false, "to_ken": false, "ke": false,
	} {
		if redact.Name(name) != secret {
			t.Errorf("%q: %v", name, !secret)
		}
	}
}

func TestFurtherNamesAndForms(t *testing.T) {
	m := redact.Masker{Names: []string{"", "user-pin"}, Values: []*regexp.Regexp{nil,
		regexp.MustCompile(`ACME-\d+`)}}
	if !m.Name("USER_PIN") || m.Name("name") || redact.Name("USER_PIN") {
		t.Error("names")
	}
	if got := m.Text("see ACME-12 and password=x1"); got != "see "+mask+" and password="+mask {
		t.Error(got)
	}
	if got := redact.Text("see ACME-12"); got != "see ACME-12" {
		t.Error(got)
	}
}

// What a form of one's own takes away must not hide from the rest what stands there, nor the other
// way round.
func TestFurtherFormsDoNotGetInTheWay(t *testing.T) {
	for form, test := range map[string]struct{ in, want string }{
		`postgres`:         {"postgres://ada:hunter2@db/x", mask + "://ada:" + mask + "@db/x"},
		`ada:hunter2`:      {"postgres://ada:hunter2@db/x", "postgres://" + mask + "@db/x"},
		`id=\d+ token=\w+`: {"see id=12 token=abc.def", "see " + mask},
		`password`:         {"password=hunter2", mask + "=" + mask},
		`x*`:               {"a xx b", "a " + mask + " b"},
		`MASKED`:           {"password=hunter2", "password=" + mask},
		`b`:                {"abc", "a" + mask + "c"},
	} {
		m := redact.Masker{Values: []*regexp.Regexp{regexp.MustCompile(form)}}
		got := m.Text(test.in)
		if got != test.want {
			t.Errorf("%s: %q, want %q", form, got, test.want)
		}
		if again := m.Text(got); again != got {
			t.Errorf("%s: %q becomes %q", form, got, again)
		}
	}
}

// opaque has n characters of what keys are made of.
func opaque(alphabet string, n int) string {
	return strings.Repeat(alphabet, n/len(alphabet)+1)[:n]
}

func TestPrefixesOfKeys(t *testing.T) {
	const letters, capitals, hex = "q7Kd93mZ0pLw2Xv8RtYb", "Q7KD93MZ0PLW2XV8RTYB",
		"0a1b2c3d4e5f6789"
	for _, group := range []struct {
		prefixes, alphabet string
		least              int
	}{
		{"ghp_ gho_ ghu_ ghs_ ghr_ shpat_ shpss_ shpca_ shppa_ hf_ dckr_pat_ dckr_oat_ rubygems_ CFPAT- PMAK- atlasv1. ATATT3 ATCTT3 ATBB", letters, 20},
		{"github_pat_ GR1348941 tskey- sk- sk-ant- sk-proj- glpat- gldt- glrt- glcbt- glptt- glsoat- glft- glimt- glagent- gloas- glffct-", letters, 16},
		{"npm_ r8_ AQ.Ab 1//0", letters, 30},
		{"pypi- oy2 sha256~ fm1r_ fm2_ eyJrIjoi ops_eyJ", letters, 40},
		{"AKIA ASIA ABIA ACCA", capitals, 16},
		{"LTAI AKID ya29. hvs. hvb. hvr. SG. dop_v1_ doo_v1_ dor_v1_ pscale_tkn_ pscale_oauth_ pscale_pw_ sbp_ sb_secret_ fo1_ nfp_ napi_ HRKU- vcp_ AVNS_", letters, 16},
		{"AIza GOCSPX- AGE-SECRET-KEY-1 dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. xkeysib- xsmtpsib-", letters, 20},
		{"dapi pul- SK key-", hex, 32},
		{"sqp_ sqa_ squ_", hex, 40},
		{"xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxc- xapp- xwfp- xoxd- hooks.slack.com/services/ discord.com/api/webhooks/ discordapp.com/api/webhooks/", letters, 10},
		{"sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_ sq0atp- sq0csp- FLWSECK- rzp_live_", letters, 10},
		{"gsk_ xai- pplx- csk- nvapi- pcsk_ lsv2_pt_ lsv2_sk_ tvly- apify_api_ api_org_ dt0c01. dt0s01. dt0s02. dt0s16.", letters, 20},
		{"lin_api_ lin_oauth_ glc_ glsa_ NRAK- sntrys_ sntryu_ phx_ ntn_ figd_ sgp_ CCIPAT_ bkua_",
			letters, 20},
	} {
		for prefix := range strings.FieldsSeq(group.prefixes) {
			key := prefix + opaque(group.alphabet, group.least)
			for in, want := range map[string]string{
				key: mask, "see " + key + ", or not": "see " + mask + ", or not", "https://x/" +
					key + "?a=1": "https://x/" + mask + "?a=1",
				`{"id":"` + key + `"}`: `{"id":"` + mask + `"}`, "got (" + key + ").": "got (" +
					mask + ").",
				// Near misses: too short, another letter's case, and in the middle of a word.
				key[:len(prefix)+7]: key[:len(prefix)+7], prefix: prefix, "a " + prefix +
					" b": "a " + prefix + " b", "word" + key[:len(key)-1] + "!": "word" +
					key[:len(key)-1] + "!",
			} {
				if strings.ContainsAny(prefix[:len(prefix)-1], "-_./") &&
					strings.HasPrefix(in, "word") {
					continue // a key may begin behind what separates words
				}
				if got := redact.Text(in); got != want {
					t.Errorf("%s\n got %s\nwant %s", in, got, want)
				}
			}
		}
	}
	for _, public := range []string{"pk_live_" + opaque(letters, 24), "GTM-ABCDEFG", "dapi" +
		strings.Repeat("g", 32), "SK" + strings.Repeat("Z", 32), "AKIA" + strings.Repeat("a", 16)} {
		if got := redact.Text(public); got != public {
			t.Errorf("%s becomes %s", public, got)
		}
	}
}

func TestTexts(t *testing.T) {
	for in, want := range map[string]string{
		// URLs
		"postgres://ada:hunter2@db/x": "postgres://ada:" + mask +
			"@db/x",
		"see postgres://ada:hunter2@db/x, and go": "see postgres://ada:" +
			mask + "@db/x, and go",
		"redis://:hunter2@cache": "redis://:" + mask +
			"@cache",
		"amqp://a:p@ss@h/v": "amqp://a:" + mask + "@h/v",
		"postgres://a:p/ss@h/v": "postgres://a:" + mask +
			"@h/v",
		"postgres://a:p#s?s@h/v": "postgres://a:" + mask +
			"@h/v",
		`parse "postgres://a:%zz@h": bad`: `parse "postgres://a:` +
			mask + `@h": bad`,
		"http://a:b@h/x?u=http://c:d@h2": "http://a:" + mask +
			"@h/x?u=http://c:" + mask + "@h2",
		"https://0123456789abcdef0123@sentry.x/1": "https://" + mask +
			"@sentry.x/1",
		"mongodb://a:b@h1:1,h2:2/db": "mongodb://a:" + mask +
			"@h1:1,h2:2/db",
		"https://x/cb?code=abc&state=def": "https://x/cb?code=" + mask +
			"&state=def",
		"https://x/cb?page=1&access_token=abc&b=2": "https://x/cb?page=1&access_token=" + mask +
			"&b=2",
		"https://x/b?sig=abc%2F": "https://x/b?sig=" + mask,
		"ada:hunter2@tcp(db:3306)/x": "ada:" + mask +
			"@tcp(db:3306)/x",
		`parse "postgres://ada:p<wX@db/x": net/url: invalid userinfo`: `parse "postgres://ada:` +
			mask + `@db/x": net/url: invalid userinfo`,
		`parse "postgres://ada:p wX@db/x": net/url, mail ops@x.org`: `parse "postgres://ada:` +
			mask + `@db/x": net/url, mail ops@x.org`,
		`parse "postgres://ada:p\"wX@db/x": bad`: `parse "postgres://ada:` +
			mask + `@db/x": bad`,
		`parse "postgres://ada:12 34@db/x": bad`: `parse "postgres://ada:` +
			mask + `@db/x": bad`,
		`{"e":"parse \"postgres://ada:p w@db/x\": mail a@b"}`: `{"e":"parse \"postgres://ada:` +
			mask + `@db/x\": mail a@b"}`,
		"postgres://ada:p`wX@db/x": "postgres://ada:" + mask +
			"@db/x",
		"postgres://ada:p wX@db/x": "postgres://ada:" + mask +
			"@db/x",
		"a\npostgres://ada:p\"w>X@db/x\nmail a@b.c": "a\npostgres://ada:" + mask +
			"@db/x\nmail a@b.c",
		"https://0123456789abcdef0123:x-oauth-basic@github.com": "https://" + mask + ":" +
			mask + "@github.com",
		"https://0123456789abcdef0123:@api/x": "https://" + mask +
			":@api/x",
		"u=https%3A%2F%2F0123456789abcdef0123%3Ax%40sentry.x": "u=https%3A%2F%2F" + mask +
			"%3A" + mask + "%40sentry.x",
		"root:hunter2@/app": "root:" + mask + "@/app",
		"ada:hunter2@tcp6([::1]:3306)/x": "ada:" + mask +
			"@tcp6([::1]:3306)/x",
		"ada:hunter2@tcp/x": "ada:" + mask + "@tcp/x",
		"ada:hunter2@mynet(db)/x": "ada:" + mask +
			"@mynet(db)/x",
		"ada:hunter2@cloudsql-mysql(p:r:i)/x": "ada:" + mask +
			"@cloudsql-mysql(p:r:i)/x",
		"HTTP_PROXY=ada:hunter2@proxy.x:3128": "HTTP_PROXY=ada:" + mask +
			"@proxy.x:3128",
		"via ada:hunter2@10.0.0.1:3128, not": "via ada:" + mask +
			"@10.0.0.1:3128, not",
		`{"db":"postgres:\/\/ada:hunter2@db\/x"}`: `{"db":"postgres:\/\/ada:` +
			mask + `@db\/x"}`,
		`{"location":"https://x/?sv=1\u0026sig=abc"}`: `{"location":"https://x/?sv=1\u0026sig=` +
			mask + `"}`,
		`https://x/?a=1&amp;code=abc`: `https://x/?a=1&amp;code=` +
			mask,
		`https://x/cb#code=abc&state=1`: `https://x/cb#code=` + mask +
			`&state=1`,
		"https://x/acs?SAMLResponse=abc&ticket=ST-1&otp=12": "https://x/acs?SAMLResponse=" + mask +
			"&ticket=" + mask + "&otp=" + mask,
		"dsn is ada:hu:nt@er2@unix(/run/sock)/x": "dsn is ada:" + mask +
			"@unix(/run/sock)/x",
		"jdbc:postgresql://h/db?user=a&password=b1": "jdbc:postgresql://h/db?user=a&password=" +
			mask,
		// forms
		jwt:                                        mask,
		"got " + jwt + ", expired":                 "got " + mask + ", expired",
		"sid=" + jwt + ";":                         "sid=" + mask + ";",
		"a%20" + jwt:                               "a%20" + mask,
		`a\n` + jwt:                                `a\n` + mask,
		"eyJhbGciOiJkaXIifQ..aXY.Y3Q.dGFn":         mask,
		"Bearer abc123":                            "Bearer " + mask,
		"bearer  AbCdEf==, x":                      "bearer  " + mask + ", x",
		"Basic dXNlcjpwYXNz":                       "Basic " + mask,
		"DPoP abc.def-123":                         "DPoP " + mask,
		`x\nBearer abc123`:                         `x\nBearer ` + mask,
		"ghp_0123456789abcdefghij":                 mask,
		"token ghp_0123456789abcdefghij.":          "token " + mask + ".",
		"my_ghp_0123456789abcdefghij":              "my_" + mask,
		"glpat-0123456789abcdef":                   mask,
		"xoxb-1234567890-abc":                      mask,
		"sk-proj-0123456789abcdef":                 mask,
		"AKIAIOSFODNN7EXAMPLE":                     mask,
		"AIzaSyA-0123456789abcdefghijklmnopqrstu":  mask,
		"npm_0123456789abcdefghij0123456789abcdef": mask,
		"hf_0123456789abcdefghij":                  mask,
		"ya29.a0AfB_by-0123456789":                 mask,
		"a\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nb": "a\n" + mask +
			"\nb",
		`{"k":"-----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY-----"}`: `{"k":"` +
			mask + `"}`,
		"x-----BEGIN RSA PRIVATE KEY-----\nMII": "x" + mask,
		// PEM whose ends are cut, missing or somebody else's
		"tenant \"-----BEGIN -----END \": -----BEGIN PRIVATE KEY-----\nMII":                                       "tenant \"" + mask,
		"-----BEGIN -----END -----BEGIN PRIVATE KEY-----\nMII":                                                    mask + mask,
		"-----BEGIN -----END X-----BEGIN PRIVATE KEY-----\nMII":                                                   mask + mask,
		"-----BEGIN X-----\nMII\n-----END CERT\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nb":   mask + "\nb",
		`"-----BEGIN X-----\nMII\n-----END CERT\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nb"`: `"` + mask + mask + `\nb"`,
		"-----BEGIN OpenVPN Static key V1-----\nMII\n-----END OpenVPN Static key V1-----\nb":                      mask + "\nb",
		"k=-----BEGIN+PRIVATE+KEY-----%0AMII%0A-----END+PRIVATE+KEY-----%0Ab":                                     "k=" + mask + "%0Ab",
		"k=-----BEGIN%20PRIVATE%20KEY-----%0AMII%0A-----END%20PRIVATE%20KEY-----%0Ab":                             "k=" + mask + "%0Ab",
		"a\n---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nMII\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\nb":         "a\n" + mask + "\nb",
		"glpat-0123456789abcdef.01.0a1b2c3.":                                                                      mask + ".",
		// escaped, as in a query string
		"u=postgres%3A%2F%2Fada%3Ahunter2%40db%2Fx": "u=postgres%3A%2F%2Fada%3A" +
			mask + "%40db%2Fx",
		"u=redis%3a%2f%2f%3ahunter2%40c": "u=redis%3a%2f%2f%3a" + mask +
			"%40c",
		"u=https%3A%2F%2F0123456789abcdef0123%40sentry.x": "u=https%3A%2F%2F" + mask +
			"%40sentry.x",
		"next=https%3A%2F%2Fx%2Fcb%3Faccess_token%3Dabc%26b%3D": "next=https%3A%2F%2Fx%2Fcb%3Faccess_token%3D" + mask + "%26b%3D",
		// beside a name
		"password=hunter2": "password=" + mask,
		"user=ada password=hunter2 host=db": "user=ada password=" + mask +
			" host=db",
		"password = hunter2": "password = " + mask,
		"password='hunter 2' host=db": "password='" + mask +
			"' host=db",
		"Server=x;Uid=sa;Pwd=abc;": "Server=x;Uid=sa;Pwd=" +
			mask + ";",
		"AccountKey=abc==;EndpointSuffix=x": "AccountKey=" + mask +
			";EndpointSuffix=x",
		`{"password":"hunter2","a":1}`: `{"password":"` + mask +
			`","a":1}`,
		`{"password": "hun\"ter2", "a":1}`: `{"password": "` + mask +
			`", "a":1}`,
		`{"token":123,"a":1}`: `{"token":"` + mask +
			`","a":1}`,
		`{"auth":{"user":"x","pw":"]}y"},"a":1}`: `{"auth":"` + mask +
			`","a":1}`,
		`{"auth":{"user":"x`: `{"auth":"` + mask + `"`,
		`"{\"password\":\"hun\\\"ter2\",\"a\":1}"`: `"{\"password\":\"` + mask +
			`\",\"a\":1}"`,
		`{"password":"cut off`: `{"password":"` + mask,
		`map["secret":"x y" "a":"b"]`: `map["secret":"` + mask +
			`" "a":"b"]`,
		"{User:ada Password:hunter2 Age:7}": "{User:ada Password:" + mask +
			" Age:7}",
		"{Password:hunter2}": "{Password:" + mask + "}",
		"map[Authorization:[Bearer abc1] A:[b]]": "map[Authorization:" + mask +
			" A:[b]]",
		"Authorization=Bearer abc1 x=y": "Authorization=" + mask +
			" x=y",
		"Authorization: Digest username=\"a\", response=\"b\"\nX: y": "Authorization: " + mask +
			"\nX: y",
		"Cookie: a=b; c=d\r\nX: y": "Cookie: " + mask +
			"\r\nX: y",
		"X-Api-Key: abc X":  "X-Api-Key: " + mask + " X",
		"password: hunter2": "password: " + mask,
		"access_token: abc": "access_token: " + mask,
		"MYSQL_PWD=x":       "MYSQL_PWD=" + mask,
		"{'secret' => 'x'}": "{'secret' => '" + mask +
			"'}",
		"mysql --user ada --password hunter2 db": "mysql --user ada --password " + mask + " db",
		"run --api-key Abc-9+x/y, then": "run --api-key " + mask +
			" then",
		// a name and its value in two members, in an element, and alone
		`[{"name":"DB_PASSWORD","value":"hunter2"}]`: `[{"name":"DB_PASSWORD","value":"` + mask +
			`"}]`,
		"{\"name\": \"API_KEY\",\n  \"value\": 7}": "{\"name\": \"API_KEY\",\n  \"value\": \"" +
			mask + "\"}",
		`{"value":"hun\"ter 2","header":"Authorization","a":1}`: `{"value":"` + mask +
			`","header":"Authorization","a":1}`,
		`{"value":12, "Name":"PASS"}`: `{"value":"` + mask +
			`", "Name":"PASS"}`,
		`"{\"name\":\"DB_PASSWORD\",\"value\":\"x y\"}"`: `"{\"name\":\"DB_PASSWORD\",\"value\":\"` + mask + `\"}"`,
		`"{\"value\":\"x y\",\"name\":\"DB_PASSWORD\"}"`: `"{\"value\":\"` + mask +
			`\",\"name\":\"DB_PASSWORD\"}"`,
		"<password>hunter 2</password>": "<password>" + mask +
			"</password>",
		"<a:Token>x</a:Token><b>y</b>": "<a:Token>" + mask +
			"</a:Token><b>y</b>",
		`"\u003cpassword\u003ehunter2\u003c/password\u003e"`: `"\u003cpassword\u003e` + mask +
			`\u003c/password\u003e"`,
		"&lt;apiKey&gt;x&lt;/apiKey&gt;": "&lt;apiKey&gt;" + mask +
			"&lt;/apiKey&gt;",
		`{"user":"a","pass":"hunter2"}`: `{"user":"a","pass":"` + mask +
			`"}`,
		"user=a pass=hunter2 x": "user=a pass=" + mask + " x",
		"PASS=hunter2":          "PASS=" + mask,
		// forms
		"k: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==": "k: " + mask + "==",
		"t eyAiYWxnIjogIkhTMjU2IiB9.e30.abc":          "t " + mask,
		"t ewogICJhbGciOiAiSFMyNTYiCn0.e30.abc":       "t " + mask,
		"X-Otp: 123456":                               "X-Otp: " + mask,
		// as others spell it
		`{"p\u0061ssword":"hunter2"}`: `{"p\u0061ssword":"` +
			mask + `"}`,
		`{\"pas\\u0073wor\\u0064\":\"x y\"}`: `{\"pas\\u0073wor\\u0064\":\"` + mask + `\"}`,
		`{"TO\u212aEN":"hunter2"}`: `{"TO\u212aEN":"` +
			mask + `"}`,
		`{"TO` + "\u212a" + `EN":"x","pa` + "\u017f\u017f" + `word":"x"}`: `{"TO` + "\u212a" +
			`EN":"` + mask + `","pa` + "\u017f\u017f" + `word":"` + mask + `"}`,
		"Bearer%20hunter2": "Bearer%20" + mask,
		"a=Bearer+hunter2&b=1": "a=Bearer+" + mask +
			"&b=1",
		"Authorization%3A%20Basic%20aHVu%2BdGVy%3D%22": "Authorization%3A%20" + mask,
		"**Authorization:ApiKey hunter2": "**Authorization:" +
			mask,
		"Authorization=ApiKey hunter2 x=y": "Authorization=" +
			mask + " x=y",
		`x\nAuthorization:ApiKey hunter2`: `x\nAuthorization:` +
			mask,
		"x%20Cookie:a=b; c=hunter2": "x%20Cookie:" + mask,
		"{Authorization:ApiKey hunter2}": "{Authorization:" +
			mask + "}",
		"{Authorization:hunter2 Age:7}": "{Authorization:" +
			mask + " Age:7}",
		"Authorization:AWS4-HMAC-SHA256 Credential=a, Signature=hunter2 x": "Authorization:" +
			mask + " x",
		`Cookie:a=b; c=hunter\n; Authorization=ApiKey hunter2 x`: `Cookie:` + mask +
			`; Authorization=` + mask + ` x`,
		"Cookie:a=b; c=hunter2; d=e x": "Cookie:" + mask + " x",
		"Cookie=a=b; c=hunter2":        "Cookie=" + mask,
		// flags
		"x --password correcthorse y": "x --password " + mask + " y",
		`x --password "hunter 2" y`:   `x --password "` + mask + `" y`,
		"x --password 'hunter 2' y":   "x --password '" + mask + "' y",
		"x --password $X y":           "x --password " + mask + " y",
		"x --password  hunter2":       "x --password  " + mask,
		`args ["--password" "hunter 2" "-v"]`: `args ["--password" "` + mask +
			`" "-v"]`,
		`{"args":["--password","hunter 2","-v"]}`: `{"args":["--password","` + mask +
			`","-v"]}`,
		`{"args":["--password", "hunter2"]}`: `{"args":["--password", "` + mask +
			`"]}`,
		`"[\"--password\",\"hunter 2\",\"-v\"]"`: `"[\"--password\",\"` + mask +
			`\",\"-v\"]"`,
		"curl --key Authorization: Token hunter2\nx": "curl --key Authorization: " + mask +
			"\nx",
		"curl --auth-header Cookie: a=b; c=hunter2": "curl --auth-header Cookie: " + mask,
		"curl --auth-header X-Api-Key: hunter2 x": "curl --auth-header X-Api-Key: " +
			mask + " x",
		`curl --auth-header "Authorization: Token hunter2"`: `curl --auth-header "` + mask + `"`,
		"--password hunter2: bad":                           "--password " + mask + ": bad",
		// lists with flags
		"[\n  \"--password\",\n  \"hunter 2\"\n]": "[\n  \"--password\",\n  \"" + mask + "\"\n]",
		`"[\n  \"--password\",\n  \"hunter 2\"\n]"`: `"[\n  \"--password\",\n  \"` + mask +
			`\"\n]"`,
		`["-password","hunter 2"]`:              `["-password","` + mask + `"]`,
		`[]string{"--password", "hunter 2"}`:    `[]string{"--password", "` + mask + `"}`,
		"[--password hunter2 -v]":               "[--password " + mask + " -v]",
		"['--password', 'hunter 2']":            "['--password', '" + mask + "']",
		"['--password', b'hunter 2']":           "['--password', b'" + mask + "']",
		"[b'--password', b'hunter 2']":          "[b'--password', b'" + mask + "']",
		"args:\n- --password\n- hunter 2\n- -v": "args:\n- --password\n- " + mask + "\n- -v",
		"  - \"--password\"\r\n  - \"hunter 2\"\r\n": "  - \"--password\"\r\n  - \"" + mask +
			"\"\r\n",
		`"- --password\n- hunter 2\n- -v"`: `"- --password\n- ` + mask + `\n- -v"`,
		// bytes and other literals of Python
		"password=b'hunter 2'":                        "password='" + mask + "'",
		`{'password': b'hun\'ter 2', 'a': 1}`:         `{'password': '` + mask + `', 'a': 1}`,
		`{b'password': b"hunter 2"}`:                  `{b'password': "` + mask + `"}`,
		`{"token": rb"hunter 2"}`:                     `{"token": "` + mask + `"}`,
		"Password: b'hunter 2' x":                     "Password: '" + mask + "' x",
		"password=bytearray(b'hunter 2')":             "password='" + mask + "')",
		"Config(password=SecretStr('hunter 2'), a=1)": "Config(password='" + mask + "'), a=1)",
		"{'password': b'hunter 2":                     "{'password': '" + mask,
		// where the quote closes what is around the value
		`{"a":"key=b","x":1}`:         `{"a":"key=` + mask + `","x":1}`,
		`"{\"a\":\"key=b\",\"x\":1}"`: `"{\"a\":\"key=` + mask + `\",\"x\":1}"`,
		// block scalars of YAML
		"password: |\n  hunter 2\n  x\nother: a\n": "password: |\n  " +
			mask + "\nother: a\n",
		"a:\n  password: >-\n    hunter\n\n    2\n\n  other: a\n": "a:\n  password: >-\n    " +
			mask + "\n\n  other: a\n",
		"- key: |2+\n      hunter\n    2\n  other: a": "- key: |2+\n      " +
			mask + "\n  other: a",
		"data:\n  tls.key: !!binary &a |  # a \"key\"\n    hunter\n  b: c": "data:\n  tls.key: !!binary &a |  # a \"key\"\n    " + mask + "\n  b: c",
		"\"token\": |\r\n  hunter\r\n  2\r\nother: a\r\n": "\"token\": |\r\n  " +
			mask + "\r\nother: a\r\n",
		"a - b\n- - - password: |\n  hunter 2\nx": "a - b\n- - - password: |\n  " + mask + "\nx",
		`password: |\u000a  hunter\u000D\u000A  2\u000ax`: `password: |\u000a  ` +
			mask + `\u000ax`,
		`password: \u003e-\n  hunter\nx`: `password: \u003e-\n  ` +
			mask + `\nx`,
		"pass: |\n\n  hunter 2": "pass: |\n\n  " + mask,
		"bad file: password: |\n  hunter 2\nx": "bad file: password: |\n  " +
			mask + "\nx",
		`{"file":"password: |\n  hun\"ter 2","a":"b\n"}`: `{"file":"password: |\n  ` +
			mask + `","a":"b\n"}`,
		`{"file":"a: b\npassword: |\n  hunter\\n 2\\\n  x\nc: d"}`:   `{"file":"a: b\npassword: |\n  ` + mask + `\nc: d"}`,
		`"{\"f\":\"password: |\\r\\n  hun\\\"ter\\r\\n  2\\r\\n\"}"`: `"{\"f\":\"password: |\\r\\n  ` + mask + `\\r\\n\"}"`,
		// PuTTY
		"Public-Lines: 1\nAAA\nPrivate-Lines: 2\nMII\nMII\nPrivate-MAC: 0a1b\nx": "Public-Lines: 1\nAAA\n" + mask + "\nx",
		`{"k":"Private-Lines: 1\r\nMII\r\nPrivate-MAC: 0a1b\r\n"}`: `{"k":"` + mask +
			`\r\n"}`,
		"k=Private-Lines%3A+1%0D%0AMII%0D%0APrivate-MAC%3A+0a1b&b=1": "k=" + mask +
			"&b=1",
		"Private-Lines: 1\nMII": mask,
		"Private-MAC: 0a Private-Lines: 9 Private-MAC: 0b\nPrivate-Lines: 1\nMII": "Private-MAC: " +
			mask + " " + mask + "\n" + mask,
		// CDATA
		"<password><![CDATA[hunter<2>]]></password><a>b</a>": "<password>" +
			mask + "</password><a>b</a>",
		"<password>\n  <![CDATA[hun]>ter]]]]><![CDATA[> 2]]>\n</password>": "<password>" +
			mask + "</password>",
		`"\u003cpassword\u003e\u003c![CDATA[hunter2]]\u003e\u003c/password\u003e"`: `"\u003cpassword\u003e` + mask + `\u003c/password\u003e"`,
		"&lt;apiKey&gt;&lt;![CDATA[hunter 2]]&gt;&lt;/apiKey&gt;":                  "&lt;apiKey&gt;" + mask + "&lt;/apiKey&gt;",
		"<password><![CDATA[hunter": "<password>" +
			mask,
		// texts of several lines in TOML
		"password = \"\"\"\nhunter\n2\"\"\"\nb = 1": "password = \"\"\"" + mask +
			"\"\"\"\nb = 1",
		"password = '''\nhunter\n2'''\nb = 1":      "password = '''" + mask + "'''\nb = 1",
		`password = """hun""ter\"""2"""""` + "\nb": `password = """` + mask + `"""` + "\nb",
		`"password = \"\"\"\nhun\\\"ter\n\"\"\"\nb = 1"`: `"password = \"\"\"` + mask +
			`\"\"\"\nb = 1"`,
		"password = \"\"\"\nhunter": "password = \"\"\"" + mask,
		// JSON that is escaped, as in a query string
		"https://x/?q=%7B%22password%22%3A%22hunter+2%22%2C%22a%22%3A1%7D&b=c": "https://x/?q=%7B%22password%22%3A%22" + mask + "%22%2C%22a%22%3A1%7D&b=c",
		"%7b%22a%22%3a1%2c%20%22db.password%22%3a%20%22hun%5C%22ter%22%7d":     "%7b%22a%22%3a1%2c%20%22db.password%22%3a%20%22" + mask + "%22%7d",
		"{%22password%22:%22hunter;2%22,%22a%22:1}":                            "{%22password%22:%22" + mask + "%22,%22a%22:1}",
		"%7B%22token%22%3A1234567%2C%22a%22%3A1%7D":                            "%7B%22token%22%3A%22" + mask + "%22%2C%22a%22%3A1%7D",
		"%7B%22auth%22%3A%7B%22user%22%3A%22x%22%7D%2C%22a%22%3A1%7D":          "%7B%22auth%22%3A%22" + mask + "%22%2C%22a%22%3A1%7D",
		"%7B%22name%22%3A%22DB_PASSWORD%22%2C%22value%22%3A%22hunter%22%7D":    "%7B%22name%22%3A%22DB_PASSWORD%22%2C%22value%22%3A%22" + mask + "%22%7D",
		"%5B%22--password%22%2C%22hunter%22%5D":                                "%5B%22--password%22%2C%22" + mask + "%22%5D",
		"%7B%5C%22password%5C%22%3A%5C%22hunter%5C%22%7D":                      "%7B%5C%22password%5C%22%3A%5C%22" + mask + "%5C%22%7D",
		"%257B%2522password%2522%253A%2522hunter%2522%257D":                    "%257B%2522password%2522%253A%2522" + mask + "%2522%257D",
		"filter=%7B%27token%27%3A%27hunter%27%7D x":                            "filter=%7B%27token%27%3A%27" + mask + "%27%7D x",
		"%7B%22password%22%3A%22hunter%2":                                      "%7B%22password%22%3A%22" + mask,
		// beside what reads like prose
		"password: correcthorse":         "password: " + mask,
		"password: is-hunter2":           "password: " + mask,
		"password: must.be":              "password: " + mask,
		`"password": correcthorse`:       `"password": "` + mask + `"`,
		`"password": hunter2 x`:          `"password": "` + mask + `" x`,
		"access_token: 123456":           "access_token: " + mask,
		"max_tokens: 4096hunter2":        "max_tokens: " + mask,
		"session_timeout: 1234567890123": "session_timeout: " + mask,
		"bearer abc/1def/ghi":            "bearer " + mask,
		"Authorization: Token hunter2":   "Authorization: " + mask,
		"--client-secret=x":              "--client-secret=" + mask,
		// prose too: what stands there could be a password
		"api_key: is required": "api_key: " + mask + " required",
		"password: must be at least 8 characters": "password: " + mask +
			" be at least 8 characters",
		`{"error":"password: is required"}`:         `{"error":"password: ` + mask + ` required"}`,
		`{"error":"api_key: missing\nx"}`:           `{"error":"api_key: ` + mask + `"}`,
		`"token": must be a string`:                 `"token": "` + mask + `" be a string`,
		"Authorization: The role Viewer is missing": "Authorization: " + mask,
		"validating /properties/api_key: type: 7": "validating /properties/api_key: " + mask +
			": 7",
		"use --password or --token instead": "use --password " + mask + " --token " + mask,
		"--password must be set":            "--password " + mask + " be set",
		"--password: missing":               "--password: " + mask,
	} {
		if got := redact.Text(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestTextsWithoutSecretsStay(t *testing.T) {
	for _, s := range []string{
		"", " ", "credential refused", "invalid token: expired", "unknown key: x",
		"auth: no credentials", "no session: closed",
		"the Authorization header is not a bearer token", "Basic authentication is off",
		"Basic Authentication is off", "bearer token.",
		`Bearer realm="x", error="invalid_token"`, "a bearer of news", "Bearer", "Bearer ",
		"bearerabc123", "basic=1",
		"https://x/y@v1", "http://localhost:4873/@types/node", "http://[::1]:80/a@b",
		"https://ada@x/y", "ssh://git@github.com/x", "http://a:80/", "git://x", "://", "a://",
		"user@tcp(db:3306)/x", "a:b@example.com", "mail a@b.c", "@tcp(", "x:y@tcp",
		"PWD=/home/ada", "pwd=~/x", "PWD=C:\\x", "pwd=.", "PWD: x",
		"key == nil", "token := x", "key != 1", "token", "token=", `"token":""`, `token=""`,
		"token: ", "authenticated=true", `{"auth":null}`, "session=false", "key=<nil>",
		"sk-short", "task-0123456789abcdef0123", "npm_config_registry=http://x/", "AKIAshort",
		"AIza", "eyJ", "eyJhbGci", "eyJhbGciOiJIUzI1NiJ9", "eyJ.a.b", "ghp_short", "hf_hub_cache",
		"-----BEGIN", "----- BEGIN X", "auth.go:42", "Session::new", "exit code=3",
		"listed 3 tools", "keys 3", "a=b;c=d", "日本語 = x",
		"u=https%3A%2F%2Fx%2F%40scope", "u=https%3A%2F%2Fada%40x", "a%3Db", "token%20x",
		"password%3D" + mask, "u=a%3A%2F%2Fb%3A" + mask + "%40c", "100%", "a%3A%2F%2F",
		"--password -h x", "--token", "--token ", "-- password x1", "--verbose 11", "--password " +
			mask,
		"--password (see below)", "--token, --key", "--key ...", `"--token", "--key"`,
		`flags "--token" or "--key"`, `--password "` + mask + `" x`, "--password '' x",
		mask, "password=" + mask, "Bearer " + mask,
		// quantities, URLs, addresses
		"max_tokens: 4096 exceeds the limit", "max_tokens=4096",
		`{"max_tokens":4096,"prompt_tokens": 12}`, "session_timeout: 30m",
		"session-ttl: 90s, not more", "{MaxTokens:4096}", `"password_length": 12`,
		"see http://host:8080, or mail a@b.c", "see http://host:8080 or mail a@b.c",
		"https://api.x: no such host; mail a@b.c", `see "http://host:80" or mail a@b.c`,
		"http://host:80/x or a@b.c",
		"postgres://service-account/x", "docker.io/a:b@sha256:0123456789abcdef", "import a:b@c.d/x",
		"npm:@types/node", "ada:@/x", "ada@proxy:3128", "at 12:30 ada@x", "to:ada@x.org(work)",
		"http://h:80/a@proxy:31",
		`{"p\u0061ge":"x"}`, `https://x/?a=1\u0026page=2`, "exit;code=3", "Basic+Auth",
		"Bearer%20token", "authors/ada", `{"\u0070age":"x"}`, "Cookie:", "https://x/#page=2",
		`{"name":"page","value":"x"}`, `{"value":"x","name":"page"}`,
		`{"name":"DB_PASSWORD"},{"value":"x"}`, `{"value":"x"},{"name":"TOKEN"}`,
		`{"title":"TOKEN","value":"x"}`,
		"List<Key> of a<b", "use <token> here <b>", "<token></token>", "<page>x</page>",
		"map<string, Key>x</Keys", "a <key> is x</p>", "<password>" + mask + "</password>",
		"pass=3 fail=1", `{"pass":3,"fail":1}`, `{"pass":true}`, "pass: yes", "pass", "PASS: x",
		"LS0tLS1CRUdJTi", "eyAi.b", "JWT_ISSUER=https://x", "jwt: expired", "otp: expired",
		"--token\nx", "- --token\nx", "- --password\n- --user", "--token\n- x", `"-token" "x"`,
		`["--max-tokens","4096"]`, "['--page', b'x']",
		"{'page': b'x'}", "b'key'", "token: b'x'", "{'page': SecretStr('x')}",
		"page: |\n  x: y\n", "key: |", "key: |\n", "key: |\nx", "  key: >\n  x", "token: > 3",
		"token: |x\n  y", "| key: |\n| x: |", "key: |\n\n\n", `{"a":"key: |\n","b":"  x"}`,
		"password: |\n  " + mask + "\nb: c",
		"Private-Lines", "Private-MAC: ***MASKED***", "Public-Lines: 2\nAAA",
		"<page><![CDATA[x]]></page>", "<![CDATA[password]]>", "a <key> <![CDATA",
		"page = \"\"\"\nx\n\"\"\"", `key = """"""`, `key = ""`, `key = """` + mask + `"""`,
		"%7B%22page%22%3A%22x%22%2C%22n%22%3A1%7D", "%22key%22", "%22key%22%20x", "a%2Ckey%22",
		"%22key%22%3A%22%22", "%22token%22%3Anull", "%22token%22%3A%22" + mask + "%22",
		"%22max_tokens%22%3A4096%7D", "%25key%25", "%22key%22%zz%3A", "100%25%22",
		"bearer authentication/authorization", "bearer and/or basic", "-----BEGINS",
		"---- BEGIN X ----", "----- BEGIN SSH",
	} {
		if got := redact.Text(s); got != s {
			t.Errorf("%s\n got %s", s, got)
		}
	}
}

func TestValues(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"API_KEY", "x", mask}, {"API_KEY", "", ""}, {"PWD", "/home/ada", "/home/ada"},
		{"MYSQL_PWD", "x", mask},
		{"DATABASE_URL", "postgres://a:b@h/d", "postgres://a:" + mask + "@h/d"},
		{"DATABASE_URL", "postgres://a:b@c d<e@h/d", "postgres://a:" + mask + "@h/d"},
		{"DATABASE_URL", `postgres://a:1 "2@h/d`, "postgres://a:" + mask + "@h/d"},
		{"SITE_URL", "https://h:80/a b@c", "https://h:80/a b@c"}, {"SITE_URL", "https://h/a:b c@d",
			"https://h/a:b c@d"}, {"paſſword", "x", mask}, {"PASS", "x", mask},
		{"X-Jwt", "x", mask}, {"X-Bearer", "x", mask}, {"JWT_ISSUER", "x", "x"},
		{"option", "x", "x"},
		{"TO\u212aEN", "x", mask}, {"ſ\u212a", "x", "x"},
		{"HOME", "/root", "/root"},
	} {
		if got := redact.Value(test.name, test.value); got != test.want {
			t.Errorf("%s=%s: %s", test.name, test.value, got)
		}
	}
}

func TestQueries(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"a=1&b=2":                      "a=1&b=2",
		"a=1&token=x&b=2":              "a=1&token=" + mask + "&b=2",
		"t%6Fken=x":                    "t%6Fken=" + mask,
		"token":                        "token",
		"token=":                       "token=",
		"code=abc&state=1":             "code=" + mask + "&state=1",
		"u=postgres%3A%2F%2Fa%3Ab%40h": "u=postgres%3A%2F%2Fa%3A" + mask + "%40h",
		"x=" + jwt:                     "x=" + mask,
		jwt:                            mask,
		"h=Bearer+abc123":              "h=Bearer+" + mask,
		"a=%zz&b=Bearer abc123":        "a=%zz&b=Bearer+" + mask,
		"%zz" + jwt + "=1":             "%zz" + mask + "=1",
		"q=" + "a+b%20c":               "q=a+b%20c",
		"token%=x&a%=y":                "token%=" + mask + "&a%=y",
		"to%ken=x":                     "to%ken=" + mask,
		"SAMLResponse=x&ticket=y&sid=z&otp=1&jwt=a&pass=b": "SAMLResponse=" + mask + "&ticket=" +
			mask + "&sid=" + mask + "&otp=" + mask + "&jwt=" + mask + "&pass=" + mask,
	} {
		if got := redact.Query(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// secrets draws what cannot be guessed and could not be taken for anything else.
var secrets = rapid.StringMatching(`[a-z]{4}[0-9][A-Za-z0-9]{20}[A-Z0-9]{4}`)

// forms are the ways in which a secret can stand in a text.
var forms = []string{
	"password=%s", "password = %s", `{"api_key":"%s"}`, `"clientSecret": "%s"`,
	`{"name":"--password","value":"%s"}`, `"{\"name\":\"--password\",\"value\":\"%s\"}"`,
	`'{\\"password\\": \\"%s\\"}'`, `{\\"Authorization\\": \\"Token %s\\"}`,
	`{\\\\"token\\\\":\\\\"%s\\\\"}`, "%%password%%3D%s", "100%%token%%3D%s",
	"LIKE %%%%password%%3D%s",
	"args=%%5B%%27--api-key%%27%%2C+%%27%s%%27%%5D",
	`{\"token\":\"%s\"}`, "{Token:%s}", "X-Auth-Token: %s", "Cookie: sid=%s; x=y",
	"Authorization: Token %s", "Authorization=Bearer %s", "map[Authorization:[Bearer %s]]",
	"Bearer %s", "bearer %s.", "Basic %s=", "https://u:%s@host/x", "https://u:a@%s@host/x",
	"https://u:a/%s@host/x",
	"https://%s@host", "https://host/x?access_token=%s&y=1", "u:%s@tcp(host)/db", "ghp_%s", "sk-%s",
	"glpat-%s", "xoxb-%s", "hf_%s", "github_pat_%s", "eyJhbGciOiJIUzI1NiJ9.%s.x",
	"eyJhbGciOiJIUzI1NiJ9.x.%s",
	"glpat-%s.01.abc", "shpat_%s", "xoxd-%%2B%s", "u=https%%3A%%2F%%2Fu%%3A%s%%40host",
	"u=x%%3Fapi_key%%3D%s",
	"-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n%s",
	"DB_PASS=%s", "secret: %s", "passwd='a b %s'",
	"-----BEGIN -----END \": -----BEGIN PRIVATE KEY-----\n%s",
	"-----BEGIN X-----\n-----END X\n-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----",
	"-----BEGIN+PRIVATE+KEY-----%%0A%s%%0A-----END+PRIVATE+KEY-----",
	"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n%s\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
	"--password %s", `--password "a %s"`, "--password '%s b'", `["--password" "%s"]`,
	`["--password","%s"]`, "--password  $%s", "--key Authorization: Token %s",
	"--auth-header Cookie: a=b; c=%s",
	"postgres://u:a<%s@host/x", "postgres://u:a`%s@host/x", `parse "postgres://u:a %s@host/x": bad`,
	"https://%s:x-oauth-basic@host", "https://%s:@host",
	"u:%s@/db", "u:%s@tcp6(host)/db", "u:%s@tcp/db", "u:%s@cloudsql-mysql(h)/db", "u:%s@proxy:3128",
	`postgres:\/\/u:%s@host\/x`, `https://x/?a=1\u0026sig=%s`, "https://x/?a=1&amp;code=%s",
	"https://x/cb#code=%s",
	`{"p\u0061ssword":"%s"}`, "Bearer%%20%s", "a=Bearer+%s", "Authorization:ApiKey %s",
	"{Authorization:ApiKey %s}", "Authorization=ApiKey %s", "Cookie:a=b; c=%s",
	`{"name":"DB_PASSWORD","value":"%s"}`, `{"value":"%s","header":"Authorization"}`,
	"<password>%s</password>", `{"user":"a","pass":"%s"}`, "pass=%s", "PASS=%s", "X-Jwt: %s",
	"eyAiYWxnIjogIkhTMjU2IiB9.%s.x", "LS0tLS1CRUdJTiBQ%s",
	"[\n \"--password\",\n \"%s\"\n]", `["-password","%s x"]`, "- --password\n- x %s",
	"['--password', b'%s']", "password=b'a %s'", "{'password': b'%s'}", `{"token": b"a %s"}`,
	"password=SecretStr('%s')",
	"\npassword: |\n  a\n  %s\n", "\n- key: >-\n    %s\n  a: b", "\n\"token\": |\r\n\r\n  a %s\r\n",
	"Private-Lines: 1\n%s\nPrivate-MAC: 0a", "Private-Lines: 1\n%s",
	"k=Private-Lines%%3A+1%%0A%s%%0A",
	"<password><![CDATA[a<%s]]></password>", "<password>a<![CDATA[]]><![CDATA[%s",
	"\npassword = \"\"\"\n\"%s\n\"\"\"", "\npassword = '''\na''%s'''",
	"%%7B%%22password%%22%%3A%%22%s%%22%%7D", "q={%%22password%%22:%%22a;%s%%22}",
	"%%2522password%%2522%%253A%%2522%s%%2522",
	"token%%3D%%3D%s", "key%%3D%%09%s", "password%%3D:%s", "-----BEGIN+X-----%s",
	"Bearer+%%2C%s", "Bearer%%20%%2C%s", "Bearer +Bearer x/%s",
}

var around = rapid.SampledFrom([]string{"", " ", "\n", "error: ", "x ", `"`, "'", "(", "[", "<",
	", ", "; ", "key ", "http://a/", "a=b&", "%20", `\n`, "é", "{", "\x00"})

func TestNoPlantedSecretLeavesAText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := secrets.Draw(t, "secret")
		text := ""
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			text += around.Draw(t, "before") + fmt.Sprintf(rapid.SampledFrom(forms).Draw(t, "form"),
				secret) + rapid.SampledFrom([]string{" ", "\n", "\" ", "\t", " x\n"}).Draw(t,
				"after")
		}
		got := redact.Text(text)
		if strings.Contains(got, secret) {
			t.Fatalf("%q leaves in %q", text, got)
		}
		if again := redact.Text(got); again != got {
			t.Fatalf("%q becomes %q", got, again)
		}
		encoded, _ := json.Marshal(text) // of a string
		if got := redact.Text(string(encoded)); strings.Contains(got, secret) {
			t.Fatalf("%s leaves in %s", encoded, got)
		}
		if got := redact.Text(fmt.Sprintf("%q", text)); strings.Contains(got, secret) {
			t.Fatalf("%q leaves in %s", text, got)
		}
	})
}

func TestTextsWithoutSecretsTakeNoMemory(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() {
		redact.Text("device")
		redact.Text("the call was refused: needs role Manager (needs dcim:write), see https://x.example/a?b=1")
		redact.Text(`see <key> of "http://a:80/x", "value":"x", "name":"page", user@host, max_tokens=12`)
		(redact.Masker{Names: []string{"pin"}}).Name("a_long_name_of_an_attribute")
	}); n != 0 {
		t.Errorf("%v allocations for texts without secrets", n)
	}
}

func TestMaskedJSONIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "token", "auth", "password"})
		value := rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(),
			rapid.MapOf(name, rapid.String()).AsAny(), rapid.SliceOf(rapid.String()).AsAny(),
			rapid.Just[any](nil))
		doc, err := json.Marshal(rapid.MapOf(name, value).Draw(t, "doc"))
		if err != nil {
			t.Fatal(err)
		}
		if got := redact.Text(string(doc)); !json.Valid([]byte(got)) {
			t.Fatalf("%s becomes %s", doc, got)
		}
	})
}

// A text in which every place could begin something takes no longer than its length asks for: this
// ends at once, and would take minutes if the search went back.
func TestTextsThatLeadOnEnd(t *testing.T) {
	size := 1 << 20
	if testing.Short() {
		size >>= 2
	}
	for _, s := range []string{
		"a://", "eyJ-", "eyJ_", "-----BEGIN ", "----BEGIN", "@tcp(", "bearer ", "token:", `token"`,
		`\`, `"\`, "key=[", "key={", `key="`, "sk-", "a:b@", "a%20", "key= ", "\"key\" ", "::", "=",
		"xoxb-", "basic/", "http://a:b/", "https://a:x",
		"--key x1 ", "--key ", "--key-", "a%3A%2F%2F", "token%3D", "key%3D%26", "a%3A%2F%2Fb%3A",
		"glpat-.", "xoxd-%", "SK0", "1//0", "hooks.slack.com/services/",
		"-----BEGIN -----END ", "-----BEGIN X-----END X\n", "-----END ", "---- BEGIN SSH2 ",
		`--key "`, `--key '`, `["--key" "`, `"--key", `, "--key Cookie: ", `"a://b:c`, `a://b:c"`,
		"a://b:c <", "a://b:1 ", `'a://b:c "`, `\"a://b:`,
		"a:b@/", "a@b(", "a:b@c:1 ", "a:b@c:", `"p\u0061`, `\u0061":`, "\u017f\":", "Bearer%20",
		"Bearer+", "basic%20%", "Cookie:a=b; ", "Authorization=a ", "Authorization=a, ",
		`"value":"`, `"value":`, `"name":"key",`, `"value":"","name":"`,
		`\"value\":\"`, "<key>", ":key>", "<a:key>", `\u003ckey\u003e`, "&lt;key&gt;", "<key>x</",
		"pass=", `"pass":`, "password: ", "api_key: is ", `"key": did `, "bearer a/", "a://b:c\r",
		"LS0tLS1CRUdJTi",
		`["--key",`, "\"--key\",\n", "\"--key\"\n", "- --key\n", "- --key\n- ", `- --key\n`,
		`- --key\n- `, "key=b'", "key=b''", "{'key': b'", "key=a(", "key=a(b'", "'key': a.",
		`\"key\": b`, "key: |\n", "key: |\n ", "key: |\n\n", `key: |\n`, `key: |\n `,
		`\"key\": |\\n `, "key: | #", "key: | #\\", "key: !", "key: !a &b ", "key: |\r",
		"- - key: >\n",
		"Private-Lines", "Private-Lines: 1", "Private-Lines: 1 Private-MAC", "Private-MAC: 0",
		"Private-Lines%3A%201", "<key><![CDATA[", "<key>a<![CDATA[]]>", "<key>]]><", "<![CDATA[]]>",
		"&lt;key&gt;&lt;![CDATA[", `key="""`, `key=""""`, "key='''", `key=\"\"\"`, `key="""\`,
		"%22key%22%3A", "%22key%22%3A%22", "%22a%22%3A", "%22a%22:", "%22a%22,", "%5C", "%5C%22",
		"a%5C%5C%22", "%2522a%2522%253A", "%25", "%2525", "%22a%22%3A ", "%22key%22%3A%22 ",
		"{%22key%22:[", ":!a", ":!a ", "key:!a", `key\`, `\key=`,
		"AKIA" + strings.Repeat("A", 16) + "a_", "npm_" + strings.Repeat("a", 30) + "_",
	} {
		redact.Text(strings.Repeat(s, size/len(s)))
	}
	for _, ends := range [][2]string{ // far from each other, and both many times
		{"<key><![CDATA[", "]]>"}, {"<key>", "<![CDATA[x"}, {`key="""`, `"""`}, {"key: |", "\n x"},
		{" ", "key: |\n x"}, {"- --key", "\n- x"}, {"Private-Lines: 1", "Private-MAC"},
		{"%22a%22%3A", "%22key%22%3A%22x"}, {"'key': b'", "'"}, {`"--key",`, `"x"`},
		{"api-key: ", `\`}, {"Private-MAC: ", `\`}, {"PuTTY-User-Key-File-2: ", `\`},
	} {
		most := 4 * size
		for _, text := range []string{
			strings.Repeat(ends[0], most/2/len(ends[0])) + strings.Repeat(ends[1],
				most/2/len(ends[1])), strings.Repeat(ends[0], most/len(ends[0])) + ends[1],
			ends[0] + strings.Repeat(ends[1], most/len(ends[1])),
			ends[0] + strings.Repeat("\n", most) + ends[1], ends[0] + strings.Repeat(" ", most) +
				ends[1],
		} {
			redact.Text(text)
		}
	}
}

// What is left of a text that is cut, at most three characters of its secret, is not enough to find
// any more.
func TestTextsThatAreCutShowNoSecret(t *testing.T) {
	const secret = "q7Kd93mZ0pLw2Xv8RtYb"
	for _, form := range []string{
		"[\n \"--password\",\n \"%s\"\n]", `["-password","%s x"]`, "- --password\n- x %s",
		"['--password', b'%s']", "password=b'a %s'", "{'password': b'%s'}",
		"password=SecretStr('%s')", "password: |\n  a\n  %s\nb: c",
		`"password: |\n  a\n  %s\nb: c"`,
		"Private-Lines: 1\n%s\nPrivate-MAC: 0a", "<password><![CDATA[%s]]></password>",
		"<password>\n<![CDATA[a]]><![CDATA[%s]]>\n</password>", "password = \"\"\"\n%s\n\"\"\"",
		"password = '''\n%s\n'''", "%%7B%%22password%%22%%3A%%22%s%%22%%7D",
		"%%257B%%2522password%%2522%%253A%%2522%s%%2522%%257D", "{%%22password%%22:%%22%s%%22}",
	} {
		text := fmt.Sprintf(form, secret)
		for cut := strings.Index(text, secret) + 4; cut <= len(text); cut++ {
			got := redact.Text(text[:cut])
			if strings.Contains(got, secret[:4]) {
				t.Errorf("%q becomes %q", text[:cut], got)
			}
			if within := (redact.Masker{}).TextWithin(strings.Repeat("- \n", 4096/3-cut/3)+text,
				4096); strings.Contains(within, secret[:4]) {
				t.Errorf("%q within 4096 bytes becomes %q", text[:cut], within[len(within)-100:])
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, form := range forms {
		f.Add("x ", fmt.Sprintf(form, "q7Kd93mZ0pLw2Xv8RtYb"), " y")
	}
	f.Add("x ", "", " y") // for the planted ones alone
	f.Fuzz(func(t *testing.T, before, text, after string) {
		got := redact.Text(before + text + after)
		if again := redact.Text(got); strings.Count(again, "") > strings.Count(got, "")+
			64*len(mask) {
			t.Errorf("%q grows to %q", got, again)
		}
		// Whatever surrounds it, what stands beside a name on a line of its own is masked.
		const secret = "q7Kd93mZ0pLw2Xv8RtYb"
		if strings.Contains(before, "q7Kd") || strings.Contains(text, "q7Kd") ||
			strings.Contains(after, "q7Kd") {
			return
		}
		for _, planted := range []string{"\npassword=" + secret + "\n", "\nhttps://u:" + secret +
			"@h\n", "\nBearer " + secret + "\n", "\nghp_" + secret + "\n", "\n--password \"" +
			secret + "\"\n", "\nu:" + secret + "@/db\n", "\n<password>" + secret + "</password>\n",
			"\nCookie:a=b; c=" + secret + "\n",
			"\n-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n",
			"\npassword: |\n  " + secret + "\n", "\n- --password\n- " + secret + "\n",
			"\n[\"--password\",\n\"" + secret + "\"]\n", "\n{'password': b'" + secret + "'}\n",
			"\nPrivate-Lines: 1\n" + secret + "\nPrivate-MAC: 0a\n", "\n<password><![CDATA[" +
				secret + "]]></password>\n", "\npassword = \"\"\"\n" + secret + "\n\"\"\"\n",
			"\n%7B%22password%22%3A%22" + secret + "%22%7D\n"} {
			if got := redact.Text(before + planted + after); strings.Contains(got, secret) {
				t.Errorf("%q leaves in %q", before+planted+after, got)
			}
		}
	})
}
