import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.CustomRequestLog;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.server.handler.ResourceHandler;
import org.eclipse.jetty.util.resource.ResourceFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty in a program, with its handler for files and nothing else. */
public final class Main {
    private final Map<String, String> options;

    private Main(Map<String, String> options) {
        this.options = options;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("--version")) {
            String java = System.getProperty("java.version");
            System.out.println("loadcurve-jetty " + Server.getVersion() + " Java " + java);
            return;
        }
        Map<String, String> options = new HashMap<>();
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            options.put(arguments[at], arguments[at + 1]);
        }
        new Main(options).serve();
    }

    private void serve() throws Exception {
        Server server = new Server(new QueuedThreadPool(Integer.parseInt(text("--threads"))));
        List<ConnectionFactory> protocols = protocols();
        ServerConnector connector = new ServerConnector(server, protocols.toArray(ConnectionFactory[]::new));
        connector.setHost(text("--address"));
        connector.setPort(Integer.parseInt(text("--port")));
        connector.setAcceptQueueSize(Integer.parseInt(text("--backlog")));
        connector.setIdleTimeout(Integer.parseInt(text("--keepalive-timeout")) * 1000L);
        server.addConnector(connector);
        ResourceHandler files = new ResourceHandler();
        files.setBaseResource(ResourceFactory.of(files).newResource(Path.of(text("--root"))));
        files.setDirAllowed(false);
        server.setHandler(files);
        if (isOn("--access-log")) {
            server.setRequestLog(new CustomRequestLog(text("--access-log-file"), CustomRequestLog.NCSA_FORMAT));
        }
        server.start();
        server.join();
    }

    /** The protocols of a connection from the outermost to the innermost, as Jetty wants them. */
    private List<ConnectionFactory> protocols() throws Exception {
        boolean isEncrypted = !text("--certificate").isEmpty();
        HttpConfiguration configuration = new HttpConfiguration();
        configuration.setPersistentConnectionsEnabled(isOn("--keepalive"));
        if (isEncrypted) {
            configuration.addCustomizer(new SecureRequestCustomizer());
        }
        List<ConnectionFactory> protocols = new ArrayList<>();
        HttpConnectionFactory http1 = new HttpConnectionFactory(configuration);
        if (isEncrypted) {
            SslContextFactory.Server encryption = new SslContextFactory.Server();
            encryption.setKeyStore(keyStore());
            encryption.setKeyStorePassword("");
            encryption.setIncludeProtocols("TLSv1.2", "TLSv1.3");
            protocols.add(new SslConnectionFactory(encryption, isOn("--http2") ? "alpn" : http1.getProtocol()));
        }
        if (isEncrypted && isOn("--http2")) {
            ALPNServerConnectionFactory negotiation = new ALPNServerConnectionFactory();
            negotiation.setDefaultProtocol(http1.getProtocol());
            protocols.add(negotiation);
            protocols.add(new HTTP2ServerConnectionFactory(configuration));
        }
        protocols.add(http1);
        if (!isEncrypted && isOn("--http2")) {
            protocols.add(new HTTP2CServerConnectionFactory(configuration));
        }
        return protocols;
    }

    /** What Java calls a key store, of the certificate and its key in PEM. */
    private KeyStore keyStore() throws Exception {
        byte[] pem = Files.readAllBytes(Path.of(text("--certificate")));
        CertificateFactory certificates = CertificateFactory.getInstance("X.509");
        Certificate[] chain =
            certificates.generateCertificates(new ByteArrayInputStream(pem)).toArray(Certificate[]::new);
        String key = Files.readString(Path.of(text("--certificate-key"))).replaceAll("-----[A-Z ]+-----|\\s", "");
        PrivateKey secret =
            KeyFactory.getInstance(chain[0].getPublicKey().getAlgorithm())
                .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(key)));
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry("server", secret, new char[0], chain);
        return store;
    }

    private String text(String name) {
        String value = options.get(name);
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }

    private boolean isOn(String name) {
        return text(name).equals("true");
    }
}
