import java.io.File;
import java.util.HashMap;
import java.util.Map;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.util.ServerInfo;
import org.apache.catalina.valves.AccessLogValve;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;
import org.apache.tomcat.util.net.SSLHostConfigCertificate.Type;

/** Tomcat in a program, with its default servlet for files and nothing else. */
public final class Main {
    private final Map<String, String> options;

    private Main(Map<String, String> options) {
        this.options = options;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("--version")) {
            String version = ServerInfo.getServerInfo().replace("Apache Tomcat/", "");
            System.out.println("loadcurve-tomcat " + version + " Java " + System.getProperty("java.version"));
            return;
        }
        Map<String, String> options = new HashMap<>();
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            options.put(arguments[at], arguments[at + 1]);
        }
        new Main(options).serve();
    }

    private void serve() throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(text("--scratch"));
        tomcat.setConnector(connector());
        Context context = tomcat.addContext("", text("--root"));
        Tomcat.addDefaultMimeTypeMappings(context);
        Wrapper files = Tomcat.addServlet(context, "default", "org.apache.catalina.servlets.DefaultServlet");
        files.setLoadOnStartup(1);
        context.addServletMappingDecoded("/", "default");
        if (isOn("--access-log")) {
            AccessLogValve log = new AccessLogValve();
            File file = new File(text("--access-log-file"));
            log.setDirectory(file.getParent());
            log.setPrefix(file.getName());
            log.setSuffix("");
            log.setFileDateFormat("");
            log.setPattern("common");
            log.setBuffered(false);
            context.getPipeline().addValve(log);
        }
        tomcat.start();
        tomcat.getServer().await();
    }

    private Connector connector() {
        Connector connector = new Connector();
        connector.setPort(Integer.parseInt(text("--port")));
        connector.setProperty("address", text("--address"));
        connector.setProperty("maxThreads", text("--threads"));
        connector.setProperty("minSpareThreads", "" + Math.min(10, Integer.parseInt(text("--threads"))));
        connector.setProperty("maxConnections", text("--max-connections"));
        connector.setProperty("acceptCount", text("--backlog"));
        connector.setProperty("maxKeepAliveRequests", isOn("--keepalive") ? text("--keepalive-requests") : "1");
        connector.setProperty("keepAliveTimeout", text("--keepalive-timeout") + "000");
        connector.setProperty("useSendfile", text("--sendfile"));
        connector.setThrowOnFailure(true);
        if (isOn("--http2")) {
            connector.addUpgradeProtocol(new Http2Protocol());
        }
        if (!text("--certificate").isEmpty()) {
            SSLHostConfig host = new SSLHostConfig();
            host.setProtocols("TLSv1.2+TLSv1.3");
            SSLHostConfigCertificate certificate = new SSLHostConfigCertificate(host, Type.UNDEFINED);
            certificate.setCertificateFile(text("--certificate"));
            certificate.setCertificateKeyFile(text("--certificate-key"));
            host.addCertificate(certificate);
            connector.setScheme("https");
            connector.setSecure(true);
            connector.setProperty("SSLEnabled", "true");
            connector.addSslHostConfig(host);
        }
        return connector;
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
