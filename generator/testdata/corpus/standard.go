package corpus

import (
	"crypto/x509"
	"database/sql"
	"math/big"
	"net/mail"
	"net/netip"
	"net/url"
	"time"
)

// Standard is types of the standard library.
type Standard struct {
	TimeDuration                   time.Duration
	TimeLocation                   time.Location
	TimeMonth                      time.Month
	TimeParseError                 time.ParseError
	TimeTicker                     time.Ticker
	TimeTime                       time.Time
	TimeTimer                      time.Timer
	TimeWeekday                    time.Weekday
	BigAccuracy                    big.Accuracy
	BigErrNaN                      big.ErrNaN
	BigFloat                       big.Float
	BigInt                         big.Int
	BigRat                         big.Rat
	BigRoundingMode                big.RoundingMode
	BigWord                        big.Word
	NetipAddr                      netip.Addr
	NetipAddrPort                  netip.AddrPort
	NetipPrefix                    netip.Prefix
	UrlError                       url.Error
	UrlEscapeError                 url.EscapeError
	UrlInvalidHostError            url.InvalidHostError
	UrlURL                         url.URL
	UrlUserinfo                    url.Userinfo
	UrlValues                      url.Values
	X509CertPool                   x509.CertPool
	X509Certificate                x509.Certificate
	X509CertificateInvalidError    x509.CertificateInvalidError
	X509CertificateRequest         x509.CertificateRequest
	X509ConstraintViolationError   x509.ConstraintViolationError
	X509ExtKeyUsage                x509.ExtKeyUsage
	X509HostnameError              x509.HostnameError
	X509InsecureAlgorithmError     x509.InsecureAlgorithmError
	X509InvalidReason              x509.InvalidReason
	X509KeyUsage                   x509.KeyUsage
	X509OID                        x509.OID
	X509PEMCipher                  x509.PEMCipher
	X509PolicyMapping              x509.PolicyMapping
	X509PublicKeyAlgorithm         x509.PublicKeyAlgorithm
	X509RevocationList             x509.RevocationList
	X509RevocationListEntry        x509.RevocationListEntry
	X509SignatureAlgorithm         x509.SignatureAlgorithm
	X509SystemRootsError           x509.SystemRootsError
	X509UnhandledCriticalExtension x509.UnhandledCriticalExtension
	X509UnknownAuthorityError      x509.UnknownAuthorityError
	X509VerifyOptions              x509.VerifyOptions
	SqlColumnType                  sql.ColumnType
	SqlConn                        sql.Conn
	SqlDB                          sql.DB
	SqlDBStats                     sql.DBStats
	SqlIsolationLevel              sql.IsolationLevel
	SqlNamedArg                    sql.NamedArg
	SqlNullBool                    sql.NullBool
	SqlNullByte                    sql.NullByte
	SqlNullFloat64                 sql.NullFloat64
	SqlNullInt16                   sql.NullInt16
	SqlNullInt32                   sql.NullInt32
	SqlNullInt64                   sql.NullInt64
	SqlNullString                  sql.NullString
	SqlNullTime                    sql.NullTime
	SqlOut                         sql.Out
	SqlRawBytes                    sql.RawBytes
	SqlResult                      sql.Result
	SqlRow                         sql.Row
	SqlRows                        sql.Rows
	SqlScanner                     sql.Scanner
	SqlStmt                        sql.Stmt
	SqlTx                          sql.Tx
	SqlTxOptions                   sql.TxOptions
	MailAddress                    mail.Address
	MailAddressParser              mail.AddressParser
	MailHeader                     mail.Header
	MailMessage                    mail.Message
}
